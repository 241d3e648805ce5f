"""Checks whether the index is as it was written, and counts what it holds."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import manifest
from sleuth.store.catalogue.lock import read_holder
from sleuth.store.catalogue.manifest import SegmentEntry, Views
from sleuth.store.catalogue.schema import log_bytes
from sleuth.store.health import opening
from sleuth.store.health.proofs import (
    READD,
    REBUILD,
    Connections,
    Rest,
    Segments,
    check_coverage,
    check_orphans,
    check_segment,
    check_size,
    check_structure,
    open_segment,
    open_segments,
    prove_pieces,
    prove_structure,
)
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.counters import Counters, Totals
from sleuth.store.record.layout import Connection, DocumentRow, StoredChunk, has_checksum
from sleuth.store.record.salt import recorded_salt
from sleuth.store.record.values import Counts, Finding, LegStatus, Repair, Status
from sleuth.store.writing.writer import Writer

_ORDER = ("error", "warning", "ok")
_LAST = 1 << 62
"""Above all keys."""


def status(
    connection: Connection, path: Path, views: Views, settings: Mapping[str, Any], noted: Iterable[str]
) -> Status:
    """Return the store at a glance, as the connection's transaction sees it.

    Args:
        noted: what is wrong with the record, as far as it was met; "" for nothing.
    """
    version, documents, chunks, next_key = connection.execute(
        "SELECT version, documents, chunks, next_key FROM state"
    ).fetchone()
    entries = manifest.entries(connection)
    names = sorted({entry.leg for entry in entries} | set(views.legs))
    legs = tuple(
        _leg_status(connection, name, [e for e in entries if e.leg == name], chunks, next_key)
        for name in names
    )
    tombstones = connection.execute("SELECT count(*) FROM tombstones").fetchone()[0]
    size = (path / opening.RECORD).stat().st_size + log_bytes(path / opening.RECORD)
    damage = (*filter(None, noted), *views.damage.values())
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


def check(path: Path, connections: Connections, views: Views, *, full: bool) -> list[Finding]:
    """Return all findings, the worst first."""
    noted = mark.read(path)
    folder = path / opening.SEGMENTS
    problems = []
    try:
        with connections() as connection:
            opened = open_segments(connection, folder, views.legs, full=full)
            problems += list(_check(connection, path, views, opened, noted, full=full))
            connection.let_go()
            problems += list(check_orphans(connection, folder))
    except StoreError as error:
        problems.append(Finding("error", "record", str(error), READD))
    return sorted(problems, key=lambda finding: _ORDER.index(finding.level))


def _check(
    connection: Connection, path: Path, views: Views, opened: Segments, noted: mark.Mark, *, full: bool
) -> Iterator[Finding]:
    yield from _check_note(connection, noted.version)
    broken = [*check_structure(connection)] if full else []
    yield from broken
    yield from check_size(connection, path / opening.RECORD)
    if not broken:
        yield from _check_state(connection)
        if full:
            if recorded_salt(connection) is None:
                yield Finding("error", "record", "its copy of the salt is damaged", REBUILD)
            yield from _check_rows(connection)
            yield from _check_embeddings(connection)
        yield from _check_segments(connection, opened, views, full=full)


def _check_note(connection: Connection, noted: int | None) -> Iterator[Finding]:
    version = connection.execute("SELECT version FROM state").fetchone()[0]
    if noted is None:
        yield Finding(
            "warning",
            "version",
            "the note of the newest version is damaged; nothing is lost by that",
            REBUILD,
        )
    elif noted == 0 and version:
        yield Finding(
            "warning",
            "version",
            "the note of the newest version is missing; nothing is lost by that",
            REBUILD,
        )
    elif lost := opening.lost(noted, version):
        yield Finding("error", "record", lost, "add the newest documents again, then sleuth doctor --repair")


def _check_state(connection: Connection) -> Iterator[Finding]:
    """Yield the counters, against the tables."""
    counters, totals = Counters.read(connection), Totals.read(connection)
    stored = connection.execute("SELECT count(*) FROM chunks").fetchone()[0]
    counted = f"{counters.documents} documents and {counters.chunks} chunks"
    if (counters.documents, counters.chunks, stored) != (totals.documents, totals.chunks, totals.chunks) or (
        totals.end > counters.next_key
    ):
        yield Finding(
            "error", "record", f"it counts {counted}, and holds {totals.documents} and {stored}", READD
        )
    else:
        yield Finding("ok", "record", f"{counters.documents} documents, {counters.chunks} chunks")


def bad_documents(connection: Connection, first: int = 0, end: int = _LAST) -> dict[int, str]:
    """Documents that have lost a part or whose bytes are not those that were written: id by key.

    Args:
        first, end: look at keys from the first on that are below the end, which is the key of a document.
    """
    bad: dict[int, str] = {}
    among = "WHERE key >= ? AND key < ? ORDER BY key"
    chunks = connection.execute(f"SELECT {record.CHUNK_COLUMNS} FROM chunks {among}", (first, end))
    chunk = _next_chunk(chunks)
    documents = connection.execute(f"SELECT {record.DOCUMENT_COLUMNS} FROM documents {among}", (first, end))
    for document in map(DocumentRow._make, documents):
        whole = has_checksum(record.document_checksum, document, connection.salt)
        expected = 0
        while chunk is not None and chunk.key < document.key + max(document.chunks, 1):
            right = chunk.key == document.key + expected and chunk.n == expected
            whole &= right and has_checksum(record.chunk_checksum, chunk, connection.salt)
            expected += 1
            chunk = _next_chunk(chunks)
        if not whole or expected != document.chunks:
            bad[document.key] = str(document.id)
    if chunk is not None:
        bad[chunk.key] = "(chunks without a document)"
    return bad


def _next_chunk(cursor: sqlite3.Cursor) -> StoredChunk | None:
    stored = cursor.fetchone()
    return None if stored is None else StoredChunk._make(stored)


def prove(path: Path, connections: Connections, views: Views, rest: Rest) -> str:
    """Look at the structure of a record, its counters, what segments cover, and all rows; return the first damage.

    Args:
        rest: no connection is held while it waits.
    """
    return (
        prove_structure(connections, rest)
        or _prove_state(path, connections, views, rest)
        or prove_pieces(connections, "documents", _damaged_documents, rest)
        or prove_pieces(connections, "embeddings", _damaged_embeddings, rest)
    )


def _prove_state(path: Path, connections: Connections, views: Views, rest: Rest) -> str:
    """Return what a check of counters and coverage finds, save for segments: they are noted themselves."""
    began = time.thread_time()
    findings = check(path, connections, views, full=False)
    rest(time.thread_time() - began)
    bad = [
        finding for finding in findings if finding.level != "ok" and finding.subject in {"record", "version"}
    ]
    lost = [finding for finding in findings if finding.level == "error" and finding.subject in views.legs]
    for finding in (*bad, *(lost if not views.damage else ())):
        return f"{finding.subject}: {finding.message}; `{finding.remedy}`"
    return ""


def _damaged_documents(connection: Connection, first: int, end: int) -> str:
    bad = bad_documents(connection, first, end)
    return f"{_named(bad)}; `sleuth doctor --repair` removes what is not whole" if bad else ""


def _damaged_embeddings(connection: Connection, first: int, end: int) -> str:
    bad = len(record.bad_embeddings(connection, first, end))
    return f"{bad} cached vectors are not as they were written; `{REBUILD}` removes them" if bad else ""


def _named(bad: Mapping[int, str]) -> str:
    names = ", ".join(repr(name) for name in list(bad.values())[:5]) + (", ..." if len(bad) > 5 else "")
    return f"{len(bad)} documents are not as they were written: {names}"


def _check_rows(connection: Connection) -> Iterator[Finding]:
    bad = bad_documents(connection)
    if bad:
        yield Finding("error", "record", _named(bad), READD)
    else:
        yield Finding("ok", "record", "every row is as it was written")


def _check_embeddings(connection: Connection) -> Iterator[Finding]:
    if bad := len(record.bad_embeddings(connection)):
        yield Finding("error", "embeddings", f"{bad} cached vectors are not as they were written", REBUILD)


def _check_segments(
    connection: Connection, opened: Segments, views: Views, *, full: bool
) -> Iterator[Finding]:
    present = manifest.record_keys(connection, 1, 1 << 62)
    dead = np.fromiter((key for (key,) in connection.execute("SELECT key FROM tombstones")), np.int64)
    for name in sorted({entry.leg for entry, _ in opened} | set(views.legs)):
        keys, faults = [np.zeros(0, np.int64)], 0
        for entry, segment in ((e, s) for e, s in opened if e.leg == name):
            own, wrong = check_segment(entry, segment, full=full)
            keys.append(own)
            faults += bool(wrong)
            if wrong:
                yield Finding("error", name, wrong, REBUILD)
        yield from check_coverage(name, np.concatenate(keys), present, dead, name in views.deferred, faults)


def repair(path: Path, connections: Connections, writer: Writer, views: Views) -> list[Repair]:
    """Remove documents that have lost a part, forget what is damaged; what legs lack then is mended afterwards.

    Raises:
        IndexDamagedError: the structure of the record is damaged, or no document has its checksum.
    """
    messages = []
    with connections() as connection:
        connection.execute("BEGIN")
        if broken := list(check_structure(connection)):
            raise IndexDamagedError(
                f"{broken[0].message}; close the index and run `{REBUILD}`", path=str(path)
            )
        is_restored = recorded_salt(connection) is None
        bad = bad_documents(connection)
        embeddings = record.bad_embeddings(connection)
        for entry in manifest.entries(connection):
            segment = open_segment(connection, views.folder, entry, views.legs, full=True)
            _, wrong = check_segment(entry, segment, full=True)
            if wrong:
                views.damage[entry.name] = wrong
    if is_restored:
        writer.repairs.restore_salt()
        messages.append(Repair("record", f"its salt was damaged: restored from the file {mark.NAME}"))
    if bad:
        writer.repairs.forget_documents(list(bad))
        messages += [
            Repair(name, "the record had lost a part of it: removed, add it again") for name in bad.values()
        ]
    if embeddings:
        writer.forget_embeddings(embeddings)
        messages.append(Repair("embeddings", f"{len(embeddings)} cached vectors were damaged: removed"))
    if writer.repairs.recount():
        messages.append(Repair("record", "its counters were wrong: counted again"))
    return messages
