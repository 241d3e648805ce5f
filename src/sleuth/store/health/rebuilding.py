"""Chooses the rows of a damaged record that go into a new one: those that have their checksums."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.health import opening
from sleuth.store.health.recovery import Rebuilt, copy_rows, drop_strays, hopeless, recover
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.counters import Counters, Totals
from sleuth.store.record.layout import Connection, DocumentRow, EmbeddingRow, StoredChunk, has_checksum
from sleuth.store.record.salt import recorded_salt, write_salt
from sleuth.store.record.values import Repair

_INCOMPLETE = (
    "FROM documents WHERE chunks != (SELECT count(*) FROM chunks WHERE chunks.key >= documents.key "
    "AND chunks.key < documents.key + documents.chunks AND chunks.n = chunks.key - documents.key)"
)
_STRAY = (
    "FROM chunks WHERE NOT EXISTS "
    "(SELECT 1 FROM documents WHERE documents.key = chunks.key - chunks.n AND chunks.n < documents.chunks)"
)


def recover_record(folder: Path, timeout: float) -> list[Repair]:
    """Replace the record of an index folder where its structure is damaged; as `recover`."""
    note = mark.read(folder)
    repairs = recover(
        folder,
        opening.DOCUMENTS_SCHEMA,
        lambda source, target, aside: _rebuild(source, target, aside, note),
        timeout,
    )
    if repairs:
        with closing(record.connect(folder / opening.RECORD, write=False)) as connection:
            mark.write(folder, record.read_version(connection, folder), connection.salt)
    return repairs


def _rebuild(source: Connection, target: Connection, aside: Path, note: mark.Mark) -> Rebuilt:
    """Copy documents that have all their chunks, cached vectors and settings; name the documents that were lost."""
    repairs = []
    for table in ("meta", "models"):
        copy_rows(source, target, table)
    salt = recorded_salt(source) if note.salt is None else note.salt
    if salt is None:
        raise hopeless(aside.parent, opening.DOCUMENTS_SCHEMA)
    write_salt(target, salt)
    try:
        record.read_settings(target, aside.parent)
    except IndexDamagedError:
        opening.filled_with({}, salt)(target)
        repairs.append(Repair("settings", "they were lost: those of a new index are taken"))
    lost = _copy_documents(source, target, _listed(aside))
    copy_rows(
        source,
        target,
        "embeddings",
        lambda row: has_checksum(record.embedding_checksum, EmbeddingRow._make(row), salt),
    )
    drop_strays(target)
    totals, before = Totals.read(target), _counters(source)
    if not totals.documents and (before is None or before.documents):
        raise hopeless(aside.parent, opening.DOCUMENTS_SCHEMA)
    repairs += [Repair(id, "the damaged record had lost a part of it: removed, add it again") for id in lost]
    repairs += _count(target, totals, before, note, len(lost))
    return Rebuilt(f"{totals.documents} documents", repairs)


def _copy_documents(source: Connection, target: Connection, names: list[str]) -> list[str]:
    """Copy documents with their chunks.

    Args:
        names: ids of all documents, as far as they can be read.

    Returns:
        Ids of those that are not whole.
    """
    deleted = {key for (key,) in source.execute("SELECT key FROM tombstones")}
    ids = dict.fromkeys(names)

    def is_whole(row: tuple[Any, ...]) -> bool:
        document = DocumentRow._make(row)
        if document.key in deleted:
            return False
        if isinstance(document.id, str):
            ids[document.id] = None
        return has_checksum(record.document_checksum, document, target.salt)

    def is_whole_chunk(row: tuple[Any, ...]) -> bool:
        return has_checksum(record.chunk_checksum, StoredChunk._make(row), target.salt)

    copy_rows(source, target, "documents", is_whole)
    copy_rows(source, target, "chunks", is_whole_chunk)
    target.execute(f"DELETE {_INCOMPLETE}")
    target.execute(f"DELETE {_STRAY}")
    whole = {id for (id,) in target.execute("SELECT id FROM documents")}
    return [id for id in ids if id not in whole]


def _listed(aside: Path) -> list[str]:
    """Return the ids of documents that the index of ids lists, as far as SQLite reads it."""
    ids: list[str] = []
    with suppress(sqlite3.DatabaseError), closing(record.connect(aside, write=False)) as damaged:
        for (id,) in damaged.execute("SELECT id FROM documents INDEXED BY sqlite_autoindex_documents_1"):
            ids.append(id)
    return ids


def _counters(source: Connection) -> Counters | None:
    """Return the counters of the damaged record, if they can be read."""
    try:
        return Counters.read(source)
    except TypeError:  # no row
        return None


def _count(
    target: Connection, totals: Totals, before: Counters | None, note: mark.Mark, lost_count: int
) -> list[Repair]:
    """Write the counters of the new record; say how many documents were lost whose ids are not known."""
    version = max(before.version if before else 0, note.version or 0) + 1
    Counters(
        version=version,
        generation=before.generation + 1 if before else version,
        next_key=max(before.next_key if before else 1, totals.end),
        documents=totals.documents,
        chunks=totals.chunks,
    ).write(target)
    if before is None:
        why = "its counters were lost: other documents may be missing, add all again"
        return [Repair("record", why)]
    repairs = []
    if missing := opening.lost(note.version, before.version):
        repairs.append(Repair("record", f"{missing}; taken as it is"))
    if (unnamed := before.documents - totals.documents - lost_count) > 0:
        why = f"{unnamed} documents are lost whose ids cannot be read: add all documents again"
        repairs.append(Repair("record", why))
    return repairs
