"""Builds a new record from the rows of one whose structure is damaged.

A damaged page makes SQLite refuse the rows on it and whatever is found through it. So the pages that hold rows are read
themselves (`pages.py`), each row is proven by its checksum, and written into a new record: a page costs no more than
the rows on it. One commit, or a new file where SQLite does not open the damaged one, puts the new record in its place;
a copy of the damaged one stays in the index folder. Segments are not salvaged: they are built again from the record.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import mark, schema
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import open_file
from sleuth.store.health import opening
from sleuth.store.health.checking import has_checksum, is_whole_chunk
from sleuth.store.health.pages import apply_log, rows_of
from sleuth.store.health.proofs import check_structure
from sleuth.store.record import layout as record
from sleuth.store.record.codebook import Codebooks, copy_codebooks, salvage_codebooks
from sleuth.store.record.counters import Counters, Totals
from sleuth.store.record.layout import Connection, DocumentRow, EmbeddingRow, StoredChunk
from sleuth.store.record.values import Repair

_TABLES = {
    "documents": record.DOCUMENT_COLUMNS,
    "chunks": record.CHUNK_COLUMNS,
    "embeddings": record.EMBEDDING_COLUMNS,
    "state": "one, version, generation, next_key, documents, chunks",
    "tombstones": "key, generation",
    "codebooks": "book, checksum, share, symbols",
    "models": "key, fingerprint",
}
"""Tables that are salvaged, with their columns, the key first."""
_TYPES = {type(None): "-", int: "i", float: "f", bytes: "b", str: "t"}
_ROWS = {
    table: re.compile(shape)
    for table, shape in {
        "documents": "-ii[i-]ibt[t-]{3}",
        "chunks": "-i[i-]iiii[t-]{2}[tb]",
        "embeddings": "-iibb",
        "state": "-i{5}",
        "tombstones": "-i",
        "codebooks": "-i[if]b",
        "models": "-t",
    }.items()
}
"""What the values of a row are, by table: a letter of `_TYPES` each; the key itself is stored as nothing."""
_ENTRIES = {"meta": re.compile("t[tb]"), "names": re.compile("ti"), "hashes": re.compile("ibi")}
"""The same for entries of indexes: `meta` is one, `names` is that of ids, `hashes` that of cached vectors."""
_NEVER_SEEN = 1 << 32
"""Added to the generation where the old one is lost: no reader may take the new record for one that it knows."""


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
    try:
        with database.locked(timeout, sweep=False) as connection, record.translated(path):
            problem = _problem(connection)
            if not problem:
                return []
            aside = _set_aside(path, connection)
            salvaged = _replace(aside, path, settings, connection)
            mark.write(path, salvaged.version)
            database.sweep(connection)
        database.checkpoint(force=True)
    except IndexDamagedError as error:  # SQLite does not open it
        if error.__cause__ is None:
            raise
        problem = str(error.__cause__)
        database.close()
        aside, salvaged = _replace_file(path, timeout, settings)
    return _told(salvaged, problem, aside)


def _told(salvaged: _Salvage, problem: str, aside: Path) -> list[Repair]:
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


def _problem(connection: Connection) -> str:
    """What is wrong with the structure, in short; empty where nothing is."""
    try:
        message = next((finding.message for finding in check_structure(connection)), "")
    except sqlite3.OperationalError:  # busy, or the disk fails
        raise
    except sqlite3.DatabaseError as error:
        message = str(error)
    return message if len(message) <= 120 else f"{message[:117]}..."


def _set_aside(path: Path, connection: Connection | None = None) -> Path:
    """Copy the damaged record, with what is in its log, into a durable file beside it.

    Args:
        connection: to it; None where SQLite does not open it.
    """
    for number in count(1):
        aside = path / f"{opening.RECORD}.damaged-{number}"
        with record.failing_disk(path), suppress(FileExistsError):
            os.close(open_file(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            break
    try:
        if connection is None:
            with record.failing_disk(path):
                _write(aside, _whole(path))
        else:
            _back_up(connection, aside)
        sync_folder(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _whole(path: Path) -> bytes:
    """The bytes of a record with what is committed in its log."""
    file, log = path / opening.RECORD, path / f"{opening.RECORD}-wal"
    content = bytearray(file.read_bytes())
    if log.is_file():
        apply_log(content, log.read_bytes())
    return bytes(content)


def _write(file: Path, content: bytes) -> None:
    """Fill a file that is there, durably."""
    fd = open_file(file, os.O_WRONLY | os.O_TRUNC)
    with os.fdopen(fd, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _back_up(source: Connection, file: Path) -> None:
    """Copy a database into a file that is there and empty, page by page, durably."""
    with closing(sqlite3.connect(file, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = FULL")
        source.backup(copy)


def _hopeless(path: Path, why: str) -> IndexDamagedError:
    return IndexDamagedError(
        f"the record in {path} is damaged: {why}; restore it from a copy, or remove the folder and index the "
        "documents again",
        path=str(path),
    )


def _replace(aside: Path, path: Path, settings: Mapping[str, Any] | None, connection: Connection) -> _Salvage:
    """Rebuild the record from the copy and write it over the damaged one, in one commit."""
    replacing = False
    try:
        with closing(_scanned(aside)) as scanned, closing(_temporary()) as rebuilt:
            salvaged = _rebuild(scanned, rebuilt, path, settings)
            replacing = True
            rebuilt.backup(connection)
            return salvaged
    except BaseException as error:
        if not replacing or isinstance(error, sqlite3.Error):  # else the commit may be made
            aside.unlink(missing_ok=True)
        raise


def _replace_file(path: Path, timeout: float, settings: Mapping[str, Any] | None) -> tuple[Path, _Salvage]:
    """Rebuild a record that SQLite does not open as a new file, and put it in the place of the damaged one."""
    lock = WriterLock(path / opening.LOCK)
    lock.acquire(timeout)
    new = path / f"{opening.RECORD}.new"
    try:
        aside = _set_aside(path)
        try:
            with closing(_scanned(aside)) as scanned, closing(_temporary()) as rebuilt:
                salvaged = _rebuild(scanned, rebuilt, path, settings)
                with record.failing_disk(path):
                    new.unlink(missing_ok=True)
                    os.close(open_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
                    _back_up(rebuilt, new)
                    with closing(sqlite3.connect(new)) as connection:
                        connection.execute("PRAGMA journal_mode = WAL")
            with record.failing_disk(path):
                for ending in ("-wal", "-shm"):  # of the damaged one
                    (path / f"{opening.RECORD}{ending}").unlink(missing_ok=True)
                new.replace(path / opening.RECORD)
            sync_folder(path)
        except BaseException:
            new.unlink(missing_ok=True)
            aside.unlink(missing_ok=True)
            raise
        mark.write(path, salvaged.version)
    finally:
        lock.release()
    return aside, salvaged


def _scanned(file: Path) -> Connection:
    """The rows that lie on the pages of a record, proven or not, as tables of a temporary database."""
    scanned = _temporary()
    for table, columns in _TABLES.items():
        first, _, others = columns.partition(", ")
        scanned.execute(f"CREATE TABLE {table}({first} INTEGER PRIMARY KEY, {others})")
    scanned.execute("CREATE TABLE meta(name PRIMARY KEY, value)")
    scanned.execute("CREATE TABLE names(id, key)")
    scanned.execute("CREATE TABLE hashes(model, hash, key)")
    scanned.execute("BEGIN")
    with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        for key, values in rows_of(content, _page_size(content)):
            table = _table_of(key, values)
            if table:
                row = values if key is None else [key, *values[1:]]
                marks = ", ".join("?" * len(row))
                scanned.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
    scanned.execute("CREATE INDEX documents_by_id ON documents(id)")
    scanned.execute(
        "DELETE FROM names WHERE id IN (SELECT fingerprint FROM models) OR id GLOB '*-[0-9]*-[0-9]*-????????????'"
    )
    scanned.execute("COMMIT")
    return scanned


def _page_size(content: mmap) -> int:
    size = int.from_bytes(content[16:18], "big")
    return size if size >= 512 and size & (size - 1) == 0 else record.PAGE


def _table_of(key: int | None, values: Sequence[Any]) -> str:
    """The table whose rows have values of these types; "" for none that is salvaged."""
    types = "".join(_TYPES.get(type(value), "?") for value in values)
    shapes = _ENTRIES if key is None else _ROWS
    return next((table for table, shape in shapes.items() if shape.fullmatch(types)), "")


def _temporary() -> Connection:
    """An empty record in a temporary file, which SQLite removes."""
    connection = sqlite3.connect("", isolation_level=None, factory=Connection)
    connection.books = Codebooks()
    connection.execute(f"PRAGMA page_size = {record.PAGE}")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    return connection


def _rebuild(
    scanned: Connection, rebuilt: Connection, path: Path, settings: Mapping[str, Any] | None
) -> _Salvage:
    """Copy into the new record whatever can be read and proven.

    Raises:
        IndexDamagedError: no document can.
    """
    salvaged = _Salvage()
    if settings is None:
        try:
            settings = record.read_settings(scanned, path)
        except (sqlite3.DatabaseError, IndexDamagedError):
            settings = {}
            salvaged.notes.append(Repair("settings", "they were lost: those of a new index are taken"))
    rebuilt.execute("BEGIN")
    schema.make_tables(rebuilt, opening.DOCUMENTS_SCHEMA, opening.filled_with(dict(settings)))
    codebooks, numbers = salvage_codebooks(scanned, rebuilt)
    if numbers:
        salvaged.notes.append(Repair("record", f"codebooks {numbers} were lost, and the texts in them"))
    before, noted = _counters(scanned), mark.read(path)
    _copy_documents(scanned, rebuilt, salvaged)
    copy_codebooks(rebuilt, codebooks)
    totals = Totals.read(rebuilt)
    if not totals.documents and (before is None or before.documents):
        raise _hopeless(path, "no document can be read")
    if before and (lost := opening.lost(noted, before.version)):
        salvaged.notes.append(Repair("record", f"{lost}; taken as it is"))
    _name_lost(scanned, rebuilt, salvaged)
    if before:
        salvaged.unnamed = max(0, before.documents - totals.documents - len(salvaged.lost))
    if missing := _copy_embeddings(scanned, rebuilt):
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


def _counters(scanned: Connection) -> Counters | None:
    """The counters, if they can be read."""
    try:
        return Counters.read(scanned)
    except (sqlite3.DatabaseError, TypeError):  # TypeError: no row
        return None


def _copy_documents(scanned: Connection, rebuilt: Connection, salvaged: _Salvage) -> None:
    """Copy every document that has its row and all its chunks as they were written."""
    stored = _rows(scanned, "chunks", record.CHUNK_COLUMNS)
    chunk = _next_chunk(stored)
    newest = (  # an old page that came back may hold what was deleted since
        f"SELECT {record.DOCUMENT_COLUMNS} FROM documents AS one WHERE key NOT IN (SELECT key FROM tombstones) "
        "AND key = (SELECT max(key) FROM documents WHERE id = one.id) ORDER BY key"
    )
    for document in map(DocumentRow._make, scanned.execute(newest)):
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


def _rows(scanned: Connection, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table that were found, by key; `columns` begin with it."""
    yield from scanned.execute(f"SELECT {columns} FROM {table} ORDER BY key")


def _name_lost(scanned: Connection, rebuilt: Connection, salvaged: _Salvage) -> None:
    """Note the ids that the damaged record lists and the new one lacks."""
    for (name,) in scanned.execute("SELECT DISTINCT id FROM names ORDER BY id"):
        known = rebuilt.execute("SELECT 1 FROM documents WHERE id = ?", (name,)).fetchone()
        if known is None:
            salvaged.lost[name] = None


def _copy_embeddings(scanned: Connection, rebuilt: Connection) -> str:
    """Copy the cached vectors that were found and can be proven; what is missing, in words."""
    models = scanned.execute("SELECT key, fingerprint FROM models").fetchall()
    rebuilt.executemany("INSERT OR IGNORE INTO models VALUES (?, ?)", models)
    numbers, vectors = {model for model, _ in models}, 0
    for row in map(EmbeddingRow._make, _rows(scanned, "embeddings", record.EMBEDDING_COLUMNS)):
        if row.model in numbers and has_checksum(record.embedding_checksum, row):
            _insert(rebuilt, "embeddings", record.EMBEDDING_COLUMNS, row)
            vectors += 1
    listed = scanned.execute("SELECT count(DISTINCT hash) FROM hashes").fetchone()[0]
    return f"{listed - vectors} cached vectors were lost" if listed > vectors else ""
