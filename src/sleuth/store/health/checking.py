"""Checks that the index is undamaged, and counts its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest
from sleuth.store.catalogue.lock import read_holder
from sleuth.store.catalogue.manifest import SegmentEntry
from sleuth.store.catalogue.schema import log_bytes
from sleuth.store.catalogue.views import Views
from sleuth.store.disk import files
from sleuth.store.health import mending, opening
from sleuth.store.health.checks import (
    END,
    REBUILD,
    CheckedTable,
    Checks,
    Connections,
    Live,
    check_segment,
    open_segment,
    structure_faults,
)
from sleuth.store.passages.blocks import Passages
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection, Counters, DocumentRow, EmbeddingRow, has_checksum
from sleuth.store.record.mark import recorded_salt, write_salt
from sleuth.store.record.values import Counts, Finding, LegStatus, Repair, Status
from sleuth.store.writing.writer import Writer


def status(
    connection: Connection, path: Path, views: Views, settings: Mapping[str, Any], lost: str
) -> Status:
    """Return the store at a glance, as the connection's transaction sees it.

    Args:
        lost: what the record had lost when it was opened; "" for nothing.
    """
    version, documents, chunks, next_key = connection.execute(
        "SELECT version, documents, chunks, next_key FROM state"
    ).fetchone()
    entries = manifest.entries(connection)
    names = sorted({entry.leg for entry in entries} | set(views.kinds))
    legs = tuple(
        _leg_status(connection, name, [e for e in entries if e.leg == name], chunks, next_key)
        for name in names
    )
    tombstones = connection.execute("SELECT count(*) FROM tombstones").fetchone()[0]
    size = (path / opening.RECORD).stat().st_size + log_bytes(path / opening.RECORD)
    damage = (*filter(None, [lost]), *views.damage.values())
    return Status(
        path=str(path),
        format=connection.execute("PRAGMA user_version").fetchone()[0],
        version=version,
        counts=Counts(documents, chunks),
        record_bytes=size,
        legs=legs,
        tombstones=tombstones,
        settings=settings,
        holder=read_holder(path / opening.LOCK),
        damage=damage,
        changed_at=mark.written_at(path),
    )


def _leg_status(
    connection: Connection, name: str, entries: list[SegmentEntry], chunks: int, next_key: int
) -> LegStatus:
    gaps = manifest.gaps([(entry.first, entry.last) for entry in entries], next_key)
    uncovered = sum(manifest.occupied(connection, *gap) for gap in gaps)
    rows = sum(entry.rows for entry in entries)
    return LegStatus(
        name=name,
        fingerprint=entries[-1].fingerprint if entries else "",
        segments=len(entries),
        rows=rows,
        dead=max(0, rows - (chunks - uncovered)),
        uncovered=uncovered,
        bytes=sum(entry.bytes for entry in entries),
    )


def bad_documents(passages: Passages, connection: Connection) -> dict[int, str]:
    """Documents that have lost a part or whose bytes are not those that were written: id by key."""
    bad: dict[int, str] = {}
    documents = connection.execute(f"SELECT {record.DOCUMENT_COLUMNS} FROM documents ORDER BY key")
    for document in map(DocumentRow._make, documents):
        is_sound = has_checksum(record.document_checksum, document, connection.salt)
        if not is_sound or passages.damaged(np.arange(document.key, document.key + document.chunks)):
            bad[document.key] = str(document.id)
    return bad


def bad_embeddings(connection: Connection) -> dict[int, str]:
    """Return the keys of cached vectors that are not as they were written; they have no names."""
    rows = map(EmbeddingRow._make, connection.execute(f"SELECT {record.EMBEDDING_COLUMNS} FROM embeddings"))
    salt = connection.salt
    return {row.key: "" for row in rows if not has_checksum(record.embedding_checksum, row, salt)}


def bad_files(connection: Connection) -> dict[int, str]:
    """Return, numbered, the names of the files whose rows are not as they were written."""
    bad: dict[int, str] = {}
    for number, row in enumerate(connection.execute(f"SELECT {record.FILE_COLUMNS} FROM files")):
        if not list(record.sound_files([row], connection.salt)):
            bad[number] = str(row[0])
    return bad


READD = "sleuth doctor --repair, then add the documents that it names again"
EMBEDDINGS = CheckedTable("embeddings", "cached vectors", bad_embeddings)
FILES = CheckedTable("files", "entries of files", bad_files)


def tables_of(views: Views) -> tuple[CheckedTable, CheckedTable, CheckedTable]:
    """Return documents, with their passages, cached vectors and files as the checks see them."""

    def bad(connection: Connection) -> dict[int, str]:
        views_now = Views(views.folder)  # not those that are open: their files may be gone
        return bad_documents(views_now.passages_at(connection), connection)

    return CheckedTable("documents", "documents", bad, READD), EMBEDDINGS, FILES


class DocumentChecks(Checks):
    """An index of documents as the checks see it; made for each check, before the record is read."""

    subject = "record"
    again = READD

    def __init__(self, path: Path, connections: Connections, views: Views) -> None:
        self.connections = connections
        self.file = path / opening.RECORD
        self.folder = path / opening.SEGMENTS
        self.legs = views.kinds
        self.tables = tables_of(views)
        self.deferred = views.deferred
        self.noted = views.damage
        self._version = mark.read(path).version
        self._live: Live | None = None

    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield what is wrong with the file that notes the newest version, or with the record beside it."""
        version, version_of_note = (
            connection.execute("SELECT version FROM state").fetchone()[0],
            self._version,
        )
        if version_of_note is None or (version_of_note == 0 and version):
            state = "damaged" if version_of_note is None else "missing"
            message = f"the note of the newest version is {state}; nothing is lost by that"
            yield Finding("warning", files.DOCUMENTS.mark, message, REBUILD)
        elif lost := opening.lost(version_of_note, version):
            yield Finding(
                "error", self.subject, lost, "add the newest documents again, then sleuth doctor --repair"
            )

    def counts(self, connection: Connection) -> Iterator[Finding]:
        """Yield the counters, against the tables; and a damaged salt."""
        counters = Counters.read(connection)
        totals = counters.counted(connection)
        figures = f"{counters.documents} documents and {counters.chunks} chunks"
        if counters != totals:
            message = f"it counts {figures}, and holds {totals.documents} and {totals.chunks}"
            yield Finding("error", self.subject, message, READD)
        else:
            yield Finding("ok", self.subject, f"{counters.documents} documents, {counters.chunks} chunks")
        if recorded_salt(connection) is None:
            yield Finding("error", self.subject, "its copy of the salt is damaged", REBUILD)

    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the chunks of the record, which are the rows of every leg, and those that were deleted."""
        if self._live is None:
            dead = np.fromiter((key for (key,) in connection.execute("SELECT key FROM tombstones")), np.int64)
            self._live = Live(manifest.record_keys(connection, 1, END), dead)
        return self._live


def repair(path: Path, connections: Connections, writer: Writer, views: Views) -> list[Repair]:
    """Remove documents that have lost a part, and forget the damage; missing parts of legs are built afterwards.

    Raises:
        IndexDamagedError: the structure of the record is damaged, or no document has its checksum.
    """
    messages = []
    with connections() as connection:
        connection.execute("BEGIN")
        if faults := structure_faults(connection):
            raise IndexDamagedError(f"{faults[0]}; close the index and run `{REBUILD}`", path=str(path))
        is_restored = recorded_salt(connection) is None
        bad, embeddings, files_damaged = (table.bad(connection) for table in tables_of(views))
        damaged_passages = []
        for entry in manifest.entries(connection):
            segment = open_segment(connection, views.folder, entry, views.kinds, full=True)
            _, wrong = check_segment(entry, segment, views.kinds, full=True)
            if wrong and entry.leg in views.legs:
                views.damage[entry.name] = wrong
            if entry.leg == PASSAGES.name and (wrong or any(entry.first <= key <= entry.last for key in bad)):
                damaged_passages.append(entry)
    transaction = writer.transaction
    with transaction.changing() as connection:
        counters = transaction.begin()
        is_miscounted = not bad and counters != counters.counted(connection)
        if is_restored:
            write_salt(connection, connection.salt)
            why = f"its salt was damaged: restored from the file {files.DOCUMENTS.mark}"
            messages.append(Repair("record", why))
        if bad:
            query = "SELECT coalesce(min(key), ?) FROM documents WHERE key > ?"
            ends = [connection.execute(query, (counters.next_key, key)).fetchone()[0] for key in bad]
            transaction.delete(list(map(range, bad, ends)))
            for (name,) in connection.execute("SELECT name FROM files").fetchall():
                writer.note_file(name, version=None)  # the next run reads it again, and adds what was removed
            why = "the record had lost a part of it: removed, add it again"
            messages += [Repair(name, why) for name in bad.values()]
        if files_damaged:
            names = ((name,) for name in files_damaged.values())
            connection.executemany("DELETE FROM files WHERE name = ?", names)
            messages.append(
                Repair("files", f"{len(files_damaged)} entries were damaged: removed, index again")
            )
    for entry in damaged_passages:
        mending.renew(writer, views, entry)
        messages.append(
            Repair(PASSAGES.name, f"segment {entry.name} was written again without what was damaged")
        )
    if embeddings:
        writer.forget_embeddings(embeddings)
        messages.append(Repair("embeddings", f"{len(embeddings)} cached vectors were damaged: removed"))
    with transaction.changing() as connection:
        transaction.counters = transaction.begin().counted(connection)
    writer.commit()
    if is_miscounted:
        messages.append(Repair("record", "its counters were wrong: counted again"))
    return messages
