"""Builds a new record from what can still be read of one whose structure is damaged.

A damaged page makes SQLite refuse the rows on it and whatever is found through it. Every other row is read, proven by
its checksum, and written into a new record. One commit puts the new record in the place of the damaged one, of which a
copy stays in the index folder. Segments are not salvaged: they are built again from the record.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import mark, schema
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import open_file
from sleuth.store.health import opening
from sleuth.store.health.checking import has_checksum, is_whole_chunk
from sleuth.store.health.proofs import check_structure
from sleuth.store.record import layout as record
from sleuth.store.record.codebook import Codebooks, salvage_codebooks
from sleuth.store.record.counters import Counters, Totals
from sleuth.store.record.layout import Connection, DocumentRow, EmbeddingRow, StoredChunk
from sleuth.store.record.scan import IDS
from sleuth.store.record.values import Repair

_COARSE = 1024
"""After this many failed reads in a row, two keys are given up together, then three, and so on."""
_FURTHEST = 1 << 26
"""Keys are looked for up to here where the last one cannot be read."""
_NEVER_SEEN = 1 << 32
"""Added to the generation where the old one is lost: no reader may take the new record for one that it knows."""
_EMBEDDINGS = "sqlite_autoindex_embeddings_1"


@dataclass(slots=True)
class _Salvage:
    """What was read of a damaged record.

    Attributes:
        version: of the new record.
        documents: how many were written into it.
        lost: ids of the others, as far as they can be read.
        unnamed: how many more the old record counted; None where its counters are lost too.
        notes: what else was lost.
    """

    version: int = 0
    documents: int = 0
    lost: dict[str, None] = field(default_factory=dict)
    unnamed: int | None = None
    notes: list[Repair] = field(default_factory=list)


def salvage(database: Database, timeout: float, settings: Mapping[str, Any] | None = None) -> list[Repair]:
    """Replace a record whose structure is damaged, under the writer's lock; what was kept and what was lost.

    Args:
        settings: of the index, where they are known already; else they are read from the damaged record.

    Returns:
        Empty where the structure is sound.

    Raises:
        IndexDamagedError: the first page or every document is lost. Everything stays as it was.
    """
    path = database.path
    with _locked(database, timeout) as connection, record.translated(path):
        problem = _problem(connection)
        if not problem:
            return []
        aside = _set_aside(connection, path)
        salvaged = _replace(connection, aside, path, settings)
        mark.write(path, salvaged.version)
        database.sweep(connection)
    database.checkpoint(force=True)
    why = (
        f"its structure was damaged ({problem}): rebuilt with {salvaged.documents} documents that could be read; "
        f"the damaged one is kept as {aside.name}"
    )
    repairs = [Repair("record", why), *salvaged.notes]
    repairs += [
        Repair(name, "the damaged record had lost a part of it: removed, add it again")
        for name in salvaged.lost
    ]
    if salvaged.unnamed is None:
        repairs.append(
            Repair("record", "its counters were lost: other documents may be missing, add all again")
        )
    elif salvaged.unnamed:
        why = f"{salvaged.unnamed} documents are lost whose ids cannot be read: add all documents again"
        repairs.append(Repair("record", why))
    return repairs


@contextmanager
def _locked(database: Database, timeout: float) -> Iterator[Connection]:
    """The connection of the one writer, for the length of a block.

    Raises:
        IndexDamagedError: SQLite opens no database there.
    """
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(database.locked(timeout, sweep=False))
        except IndexDamagedError as error:
            raise _hopeless(database.path, f"it does not open ({error.__cause__})") from error
        yield connection


def _problem(connection: Connection) -> str:
    """What is wrong with the structure, in short; empty where nothing is."""
    try:
        message = next((finding.message for finding in check_structure(connection)), "")
    except sqlite3.OperationalError:  # busy, or the disk fails
        raise
    except sqlite3.DatabaseError as error:
        message = str(error)
    return message if len(message) <= 120 else f"{message[:117]}..."


def _set_aside(connection: Connection, path: Path) -> Path:
    """Copy the damaged record, page by page and with what is in its log, into a durable file beside it."""
    for number in count(1):
        aside = path / f"{opening.RECORD}.damaged-{number}"
        with record.failing_disk(path), suppress(FileExistsError):
            os.close(open_file(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            break
    try:
        with closing(sqlite3.connect(aside, isolation_level=None)) as copy:
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = FULL")
            connection.backup(copy)
        sync_folder(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _hopeless(path: Path, why: str) -> IndexDamagedError:
    return IndexDamagedError(
        f"the record in {path} is damaged: {why}; restore it from a copy, or remove the folder and index the "
        "documents again",
        path=str(path),
    )


def _replace(connection: Connection, aside: Path, path: Path, settings: Mapping[str, Any] | None) -> _Salvage:
    """Rebuild the record from the copy and write it over the damaged one, in one commit."""
    replacing = False
    try:
        with (
            closing(record.connect(aside, Codebooks(), write=False, immutable=True)) as damaged,
            closing(_temporary()) as rebuilt,
        ):
            damaged.execute("PRAGMA mmap_size = 0")
            damaged.execute("PRAGMA cell_size_check = ON")
            salvaged = _rebuild(damaged, rebuilt, path, settings)
            replacing = True
            rebuilt.backup(connection)
            return salvaged
    except BaseException as error:
        if not replacing or isinstance(error, sqlite3.Error):  # else the commit may be made
            aside.unlink(missing_ok=True)
        raise


def _temporary() -> Connection:
    """An empty record in a temporary file, which SQLite removes."""
    connection = sqlite3.connect("", isolation_level=None, factory=Connection)
    connection.books = Codebooks()
    connection.execute(f"PRAGMA page_size = {record.PAGE}")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    return connection


def _rebuild(
    damaged: Connection, rebuilt: Connection, path: Path, settings: Mapping[str, Any] | None
) -> _Salvage:
    """Copy into the new record whatever can be read and proven.

    Raises:
        IndexDamagedError: no document can.
    """
    salvaged = _Salvage()
    if settings is None:
        try:
            settings = record.read_settings(damaged, path)
        except (sqlite3.DatabaseError, IndexDamagedError):
            settings = {}
            salvaged.notes.append(Repair("settings", "they were lost: those of a new index are taken"))
    rebuilt.execute("BEGIN")
    schema.make_tables(rebuilt, opening.DOCUMENTS_SCHEMA, opening.filled_with(dict(settings)))
    if numbers := salvage_codebooks(damaged, rebuilt):
        salvaged.notes.append(Repair("record", f"codebooks {numbers} were lost, and the texts in them"))
    before, noted = _counters(damaged), mark.read(path)
    _copy_documents(damaged, rebuilt, before, salvaged)
    totals = Totals.read(rebuilt)
    if not totals.documents and (before is None or before.documents):
        raise _hopeless(path, "no document can be read")
    if before and (lost := opening.lost(noted, before.version)):
        salvaged.notes.append(Repair("record", f"{lost}; taken as it is"))
    _name_lost(damaged, rebuilt, salvaged)
    if before:
        salvaged.unnamed = max(0, before.documents - totals.documents - len(salvaged.lost))
    if missing := _copy_embeddings(damaged, rebuilt):
        salvaged.notes.append(Repair("embeddings", missing))
    salvaged.documents = totals.documents
    salvaged.version = max(before.version if before else 0, noted or 0) + 1
    Counters(
        version=salvaged.version,
        generation=before.generation + 1 if before else salvaged.version + _NEVER_SEEN,
        next_key=max(before.next_key if before else 1, totals.end),
        documents=totals.documents,
        chunks=totals.chunks,
    ).write(rebuilt)
    rebuilt.execute("COMMIT")
    return salvaged


def _counters(damaged: Connection) -> Counters | None:
    """The counters, if they can be read."""
    try:
        return Counters.read(damaged)
    except (sqlite3.DatabaseError, TypeError):  # TypeError: no row
        return None


def _copy_documents(
    damaged: Connection, rebuilt: Connection, before: Counters | None, salvaged: _Salvage
) -> None:
    """Copy every document that has its row and all its chunks as they were written."""
    last = max(
        before.next_key if before else 1, _last_key(damaged, "documents"), _last_key(damaged, "chunks")
    )
    stored = _rows(damaged, "chunks", record.CHUNK_COLUMNS, last)
    chunk = _next_chunk(stored)
    for document in map(DocumentRow._make, _rows(damaged, "documents", record.DOCUMENT_COLUMNS, last)):
        if not has_checksum(record.document_checksum, document):
            if isinstance(document.id, str):
                salvaged.lost[document.id] = None
            continue
        own: list[StoredChunk] = []
        while chunk is not None and chunk.key < document.key + document.chunks:
            if chunk.key == document.key + len(own) and is_whole_chunk(rebuilt, chunk):
                own.append(chunk)
            chunk = _next_chunk(stored)
        if len(own) == document.chunks:
            _insert(rebuilt, "documents", record.DOCUMENT_COLUMNS, document)
            for row in own:
                _insert(rebuilt, "chunks", record.CHUNK_COLUMNS, row)
        else:
            salvaged.lost[document.id] = None


def _next_chunk(stored: Iterator[tuple[Any, ...]]) -> StoredChunk | None:
    row = next(stored, None)
    return None if row is None else StoredChunk._make(row)


def _insert(rebuilt: Connection, table: str, columns: str, row: tuple[Any, ...]) -> None:
    marks = ", ".join("?" * len(row))
    rebuilt.execute(f"INSERT INTO {table}({columns}) VALUES ({marks})", row)


def _rows(damaged: Connection, table: str, columns: str, last: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows with keys 1 to `last` that can be read, by key.

    A range in which a row cannot be read is cut into halves behind the last row that could.

    Args:
        columns: the key first.
    """
    query = f"SELECT {columns} FROM {table} WHERE key BETWEEN ? AND ? ORDER BY key"
    ranges, failures = [(1, last)], 0
    while ranges:
        at, end = ranges.pop()
        try:
            for row in damaged.execute(query, (at, end)):
                at, failures = row[0] + 1, 0
                yield row
        except sqlite3.DatabaseError:
            failures += 1
            if end - at > failures // _COARSE:
                middle = (at + end) // 2
                ranges += [(middle + 1, end), (at, middle)]


def _last_key(damaged: Connection, table: str, default: int = 0) -> int:
    """The last key of a table, or the default where it cannot be read."""
    try:
        row = damaged.execute(f"SELECT key FROM {table} ORDER BY key DESC LIMIT 1").fetchone()
    except sqlite3.DatabaseError:
        return default
    return int(row[0]) if row else 0


def _name_lost(damaged: Connection, rebuilt: Connection, salvaged: _Salvage) -> None:
    """Note the ids that the damaged record lists and the new one lacks; the index of ids is read from both ends."""
    for order in ("ASC", "DESC"):
        listed = f"SELECT id FROM documents INDEXED BY {IDS} ORDER BY id {order}"
        try:
            for (name,) in damaged.execute(listed):
                known = rebuilt.execute("SELECT 1 FROM documents WHERE id = ?", (name,)).fetchone()
                if known is None and isinstance(name, str):
                    salvaged.lost[name] = None
        except sqlite3.DatabaseError:
            continue
        return


def _copy_embeddings(damaged: Connection, rebuilt: Connection) -> str:
    """Copy the cached vectors that can be read and proven; what is missing, in words."""
    try:
        models = damaged.execute("SELECT model, fingerprint FROM models").fetchall()
    except sqlite3.DatabaseError:
        return "the models of cached vectors were lost, and with them all vectors"
    rebuilt.executemany("INSERT INTO models VALUES (?, ?)", models)
    numbers, vectors = {model for model, _ in models}, 0
    last = _last_key(damaged, "embeddings", _FURTHEST)
    for row in map(EmbeddingRow._make, _rows(damaged, "embeddings", record.EMBEDDING_COLUMNS, last)):
        if row.model in numbers and has_checksum(record.embedding_checksum, row):
            _insert(rebuilt, "embeddings", record.EMBEDDING_COLUMNS, row)
            vectors += 1
    try:
        counted = f"SELECT count(*) FROM embeddings INDEXED BY {_EMBEDDINGS}"
        lost = damaged.execute(counted).fetchone()[0] - vectors
    except sqlite3.DatabaseError:
        return f"{vectors} cached vectors were kept, others may be lost"
    return f"{lost} cached vectors were lost" if lost else ""
