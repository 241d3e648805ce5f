"""Builds a new record from the rows of one whose structure is damaged.

A damaged page makes SQLite refuse the rows on it and whatever is found through it. So the pages that hold rows are read
themselves (`pages.py`), each row is proven by its checksum, and written into a new record: a page costs no more than
the rows on it. One commit, or a new file where SQLite does not open the damaged one, puts the new record in its place;
a copy of the damaged one stays in the index folder. Segments are not salvaged: they are built again from the record.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import mark, schema
from sleuth.store.catalogue.database import Database
from sleuth.store.health import opening
from sleuth.store.health.checking import is_whole_chunk
from sleuth.store.health.identity import written_salt
from sleuth.store.health.replacing import (
    Replacement,
    insert,
    page_rows,
    replace_damaged,
    temporary,
    types_of,
)
from sleuth.store.record import layout as record
from sleuth.store.record.codebook import copy_codebooks, salvage_codebooks
from sleuth.store.record.counters import Counters, Totals
from sleuth.store.record.layout import Connection, DocumentRow, EmbeddingRow, StoredChunk, has_checksum
from sleuth.store.record.salt import write_salt
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
"""What the values of a row are, by table: a letter of `types_of` each; the key itself is stored as nothing."""
_ENTRIES = {"meta": re.compile("t[tb]"), "names": re.compile("ti"), "hashes": re.compile("ibi")}
"""The same for entries of indexes: `meta` is one, `names` is that of ids, `hashes` that of cached vectors."""
_NEVER_SEEN = 1 << 32
"""Added to the generation where the old one is lost: no reader may take the new record for one that it knows."""


@dataclass(slots=True)
class _Salvage:
    """What was read of a damaged record.

    Attributes:
        version, salt: of the new record.
        documents: how many were written into it.
        lost: ids of the others, as far as they can be read.
        unnamed: how many more the old record counted; None where its counters are lost too.
        notes: what else was lost.
    """

    version: int = 0
    salt: int = 0
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
        IndexDamagedError: every document is lost. Everything stays as it was.
    """
    path = database.path
    replaced = replace_damaged(
        database,
        timeout,
        lambda aside, rebuilt: _rebuilt(aside, rebuilt, path, settings),
        lambda salvaged: mark.write(path, salvaged.version, salvaged.salt),
    )
    return [] if replaced is None else _told(replaced)


def _told(replaced: Replacement[_Salvage]) -> list[Repair]:
    salvaged = replaced.content
    why = (
        f"its structure was damaged ({replaced.problem}): rebuilt with {salvaged.documents} documents that could be "
        f"read; the damaged one is kept as {replaced.aside.name}"
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


def _hopeless(path: Path, why: str) -> IndexDamagedError:
    return IndexDamagedError(
        f"the record in {path} is damaged: {why}; restore it from a copy, or remove the folder and index the "
        "documents again",
        path=str(path),
    )


def _rebuilt(aside: Path, rebuilt: Connection, path: Path, settings: Mapping[str, Any] | None) -> _Salvage:
    with closing(_scanned(aside)) as scanned:
        return _rebuild(scanned, rebuilt, path, settings)


def _scanned(file: Path) -> Connection:
    """Return the rows that lie on the pages of a record, proven or not, as tables of a temporary database."""
    scanned = temporary()
    for table, columns in _TABLES.items():
        first, _, others = columns.partition(", ")
        scanned.execute(f"CREATE TABLE {table}({first} INTEGER PRIMARY KEY, {others})")
    scanned.execute("CREATE TABLE meta(name PRIMARY KEY, value)")
    scanned.execute("CREATE TABLE names(id, key)")
    scanned.execute("CREATE TABLE hashes(model, hash, key)")
    scanned.execute("BEGIN")
    for row in page_rows(file):
        types, shapes = types_of(row), _ENTRIES if row.key is None else _ROWS
        table = next((table for table, shape in shapes.items() if shape.fullmatch(types)), "")
        if table:
            insert(scanned, table, row.values if row.key is None else [row.key, *row.values[1:]])
    scanned.execute("CREATE INDEX documents_by_id ON documents(id)")
    scanned.execute(
        "DELETE FROM names WHERE id IN (SELECT fingerprint FROM models) OR id GLOB '*-[0-9]*-[0-9]*-????????????'"
    )
    scanned.execute("COMMIT")
    return scanned


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
    salt = written_salt(scanned, rebuilt)
    if salt is not None:
        write_salt(rebuilt, salt)
    salvaged.salt = rebuilt.salt
    if numbers:
        salvaged.notes.append(Repair("record", f"codebooks {numbers} were lost, and the texts in them"))
    before, noted = _counters(scanned), mark.read(path).version
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
    """Return the counters, if they can be read."""
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
        if not has_checksum(record.document_checksum, document, rebuilt.salt):
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
        row = rebuilt.execute("SELECT 1 FROM documents WHERE id = ?", (name,)).fetchone()
        if row is None:
            salvaged.lost[name] = None


def _copy_embeddings(scanned: Connection, rebuilt: Connection) -> str:
    """Copy the cached vectors that were found and can be proven; what is missing, in words."""
    models = scanned.execute("SELECT key, fingerprint FROM models").fetchall()
    rebuilt.executemany("INSERT OR IGNORE INTO models VALUES (?, ?)", models)
    numbers, vectors = {model for model, _ in models}, 0
    for row in map(EmbeddingRow._make, _rows(scanned, "embeddings", record.EMBEDDING_COLUMNS)):
        if row.model in numbers and has_checksum(record.embedding_checksum, row, rebuilt.salt):
            _insert(rebuilt, "embeddings", record.EMBEDDING_COLUMNS, row)
            vectors += 1
    listed = scanned.execute("SELECT count(DISTINCT hash) FROM hashes").fetchone()[0]
    return f"{listed - vectors} cached vectors were lost" if listed > vectors else ""
