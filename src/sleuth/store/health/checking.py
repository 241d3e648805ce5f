"""Checks that the index is undamaged, and counts its documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError, amount
from sleuth.store.catalogue import manifest
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.lock import read_holder
from sleuth.store.catalogue.views import Views, passages_of
from sleuth.store.disk import files
from sleuth.store.health import mending, opening
from sleuth.store.health.checks import (
    END,
    REBUILD,
    CheckedTable,
    Checks,
    Live,
    check_segment,
    open_segments,
    structure_faults,
)
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection, Counters, DocumentRow, EmbeddingRow, has_checksum
from sleuth.store.record.mark import recorded_salt, write_salt
from sleuth.store.record.values import Counts, Finding, LegStatus, Repair, Status
from sleuth.store.writing.writer import Writer


def status(
    connection: Connection, database: Database, views: Views, settings: Mapping[str, Any], lost: str
) -> Status:
    """Return the store at a glance, as the connection's transaction sees it.

    Args:
        lost: what the record had lost when it was opened; "" for nothing.
    """
    version, documents, chunks, next_key = connection.execute(
        "SELECT version, documents, chunks, next_key FROM state"
    ).fetchone()
    entries = manifest.entries(connection)
    legs = []
    for name in sorted({entry.leg for entry in entries} | set(views.kinds)):
        entries_of_leg = [entry for entry in entries if entry.leg == name]
        gaps = manifest.gaps([(entry.first, entry.last) for entry in entries_of_leg], next_key)
        uncovered = sum(manifest.occupied(connection, *gap) for gap in gaps)
        rows = sum(entry.rows for entry in entries_of_leg)
        legs.append(
            LegStatus(
                name=name,
                fingerprint=entries_of_leg[-1].fingerprint if entries_of_leg else "",
                segments=len(entries_of_leg),
                rows=rows,
                dead=max(0, rows - (chunks - uncovered)),
                uncovered=uncovered,
                bytes=sum(entry.bytes for entry in entries_of_leg),
            )
        )
    return Status(
        path=str(database.path),
        format=connection.execute("PRAGMA user_version").fetchone()[0],
        version=version,
        counts=Counts(documents, chunks),
        record_bytes=database.file.stat().st_size + files.log_bytes(database.file),
        legs=tuple(legs),
        tombstones=connection.execute("SELECT count(*) FROM tombstones").fetchone()[0],
        settings=settings,
        holder=read_holder(database.path / database.names.lock),
        damage=(*filter(None, [lost]), *views.damage.values()),
        changed_at=mark.written_at(database.path),
    )


def bad_documents(folder: Path, connection: Connection) -> dict[int, str]:
    """Documents that have lost a part or whose bytes are not those that were written: id by key.

    Args:
        folder: of the segments.
    """
    bad: dict[int, str] = {}
    passages = passages_of(folder, connection)  # not those that are open: their files may be gone
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
    rows = enumerate(connection.execute(f"SELECT {record.FILE_COLUMNS} FROM files"))
    salt = connection.salt
    return {number: str(row[0]) for number, row in rows if not list(record.sound_files([row], salt))}


READD = "sleuth doctor --repair, then add the documents that it names again"
EMBEDDINGS = CheckedTable("embeddings", "cached vectors", bad_embeddings)
FILES = CheckedTable("files", "entries of files", bad_files)


class DocumentChecks(Checks):
    """An index of documents as the checks see it; made for each check, before the record is read."""

    subject = "record"
    again = READD

    def __init__(self, database: Database, views: Views) -> None:
        self.database = database
        self.legs = views.kinds
        bad = partial(bad_documents, database.segments)
        self.tables = CheckedTable("documents", "documents", bad, READD), EMBEDDINGS, FILES
        self.deferred = views.deferred
        self._version = mark.read(database.path).version
        self._live: Live | None = None

    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield what is wrong with the file that notes the newest version, or with the record beside it."""
        (version,) = connection.execute("SELECT version FROM state").fetchone()
        version_of_note = self._version
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
        figures = f"{amount(counters.documents, 'document')} and {amount(counters.chunks, 'chunk')}"
        if counters != totals:
            message = f"it counts {figures}, and holds {totals.documents} and {totals.chunks}"
            yield Finding("error", self.subject, message, READD)
        else:
            yield Finding("ok", self.subject, figures)
        if recorded_salt(connection) is None:
            yield Finding("error", self.subject, "its copy of the salt is damaged", REBUILD)

    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the chunks of the record, which are the rows of every leg, and those that were deleted."""
        if self._live is None:
            dead = np.fromiter((key for (key,) in connection.execute("SELECT key FROM tombstones")), np.int64)
            self._live = Live(manifest.record_keys(connection, 1, END), dead)
        return self._live


def repair(database: Database, writer: Writer, views: Views) -> list[Repair]:
    """Remove documents that have lost a part, and forget the damage; missing parts of legs are built afterwards.

    Raises:
        IndexDamagedError: the structure of the record is damaged, or no document has its checksum.
    """
    messages = []
    checks = DocumentChecks(database, views)
    with database.connection() as connection:
        segments_open = open_segments(connection, views.folder, views.kinds, full=True)
        if faults := structure_faults(connection):
            message = f"{faults[0]}; close the index and run `{REBUILD}`"
            raise IndexDamagedError(message, path=str(database.path))
        is_restored = recorded_salt(connection) is None
        bad, embeddings, files_damaged = (table.bad(connection) for table in checks.tables)
        damaged_passages = []
        for entry, segment in segments_open:
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
            damaged = amount(len(files_damaged), "damaged row")
            messages.append(Repair("files", f"{damaged} removed, index again"))
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
