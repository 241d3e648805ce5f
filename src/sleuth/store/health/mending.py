"""Finds what legs lack, and rebuilds it from the record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest, merging, segment_files
from sleuth.store.catalogue.building import Built, write
from sleuth.store.catalogue.manifest import SegmentEntry, SegmentMissingError
from sleuth.store.catalogue.views import Views
from sleuth.store.legs.leg import Leg, Rows, SegmentView, pack
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record import layout as record
from sleuth.store.record.layout import Connection
from sleuth.store.record.scan import rows_between
from sleuth.store.record.values import Repair

if TYPE_CHECKING:
    from sleuth.store.writing.writer import Writer

_DEFERRED_BATCH = 8 << 20
"""Characters of text in one step of a build that can be resumed."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What one leg lacks.

    Attributes:
        bad: segments that cannot serve.
        gaps: ranges of keys with rows that no other segment answers for.
        why: in words.
    """

    leg: Leg
    bad: tuple[SegmentEntry, ...]
    gaps: tuple[tuple[int, int], ...]
    why: str


def problems(connection: Connection, views: Views) -> list[Problem]:
    """Find what the attached legs lack, as the connection's transaction sees it; the segments that serve stay open."""
    problems = []
    for name, leg in views.legs.items():
        entries = manifest.entries(connection, name)
        reasons = views.faults(connection, entries, leg)
        gaps = [] if name in views.deferred else manifest.uncovered(connection, leg, frozenset(reasons))
        bad = tuple(entry for entry in entries if entry.name in reasons)
        if bad or gaps:
            rows = sum(manifest.occupied(connection, *gap) for gap in gaps)
            whys = sorted(set(reasons.values())) or [f"{rows} rows were not indexed"]
            problems.append(
                Problem(leg, bad, tuple(gaps), "; ".join(whys[:3]) + ("; ..." if len(whys) > 3 else ""))
            )
    return problems


def in_memory(problems: Sequence[Problem], reason: str) -> list[Repair]:
    """Return the message for an index that cannot be written."""
    return [
        Repair(problem.leg.name, f"{problem.why}: served from the memory of this process, since {reason}")
        for problem in problems
    ]


def mend(connection: Connection, writer: Writer, views: Views) -> list[Repair]:
    """Drop what cannot serve and index what is uncovered, leg by leg; each batch is committed.

    Args:
        connection: for reading; nobody else writes meanwhile.
    """
    connection.execute("BEGIN")
    passages = views.passages_at(connection)
    messages = []
    for problem in problems(connection, views):
        started = time.perf_counter()
        if problem.bad:
            _drop(writer, views, problem.bad)
        rows = 0
        for gap in problem.gaps:
            for batch in rows_between(connection, passages, *gap):
                _publish(writer, _segment_of(problem.leg, batch, views.folder), batch)
                rows += len(batch)
        why = f"{problem.why}: {rows} rows indexed"
        messages.append(Repair(problem.leg.name, why, time.perf_counter() - started))
    return messages


def renew(writer: Writer, views: Views, entry: SegmentEntry) -> None:
    """Write a segment of passages again, with the rows that the record still has; drop one that does not open."""

    def change(connection: Connection) -> list[Built]:
        built: list[Built] = []
        with suppress(SegmentMissingError, IndexDamagedError):
            segment = manifest.open_segment(connection, views.folder, entry, PASSAGES)
            live = np.isin(segment.keys, manifest.record_keys(connection, entry.first, entry.last))
            view = SegmentView(segment.name, segment.key_list, None, pack(live), segment.arrays, segment.meta)
            merged = merging.merge(PASSAGES, [entry], [view], views.folder)
            built += [merged.built] if merged.built else []
        manifest.drop(connection, [entry.name])
        for output in built:
            output.publish(connection)
        manifest.purge_tombstones(connection, views.folder, entry.first, entry.last)
        return built

    writer.change_manifest(change)
    segment_files.remove(views.folder, entry.name)
    views.forget([entry.name])


def remake(  # noqa: PLR0917 - the place and the outcome
    connection: Connection,
    writer: Writer,
    views: Views,
    leg: str,
    settings: Mapping[str, Any],
    vectors_of: str,
) -> None:
    """Forget the segments of a leg, and cached vectors but those of one fingerprint; keep other settings."""

    def settle(connection: Connection) -> None:
        text = record.to_json(settings, "settings") or "{}"
        connection.execute("UPDATE meta SET value = ? WHERE name = 'settings'", (text,))
        connection.execute("DELETE FROM models WHERE fingerprint != ?", (vectors_of,))

    _drop(writer, views, manifest.entries(connection, leg), settle)


def _drop(
    writer: Writer,
    views: Views,
    bad: Sequence[SegmentEntry],
    also: Callable[[Connection], None] | None = None,
) -> None:
    """Remove segments from the manifest, with other changes in one commit, and then from the disk."""
    names = [entry.name for entry in bad]

    def change(connection: Connection) -> list[Built]:
        if also:
            also(connection)
        manifest.drop(connection, names)
        if bad:
            first_key, last_key = min(entry.first for entry in bad), max(entry.last for entry in bad)
            manifest.purge_tombstones(connection, views.folder, first_key, last_key)
        return []

    writer.change_manifest(change)
    for name in names:
        segment_files.remove(views.folder, name)
    views.forget(names)


def build(
    connection: Connection,
    views: Views,
    leg: Leg,
    writing: Callable[[], AbstractContextManager[Writer]],
    progress: Callable[[int, int], None] | None,
) -> int:
    """Index what a leg does not cover, batch by batch; the writer's lock is held only to publish each.

    Returns:
        Rows indexed.
    """
    rows_built, tried = 0, 0
    while batch := _next_batch(connection, views, leg):
        rows, remaining = batch
        segment = _segment_of(leg, rows, views.folder)
        with writing() as writer:
            _publish(writer, segment, rows)
        rows_built += len(rows)
        tried = max(tried, rows_built + remaining - len(rows))
        if progress:
            progress(rows_built, tried)
    return rows_built


def _next_batch(connection: Connection, views: Views, leg: Leg) -> tuple[Rows, int] | None:
    """Return the first rows that the leg does not cover, and how many there are in all."""
    connection.execute("BEGIN")
    try:
        gaps = manifest.uncovered(connection, leg)
        if not gaps:
            return None
        remaining = sum(manifest.occupied(connection, *gap) for gap in gaps)
        return next(
            rows_between(connection, views.passages_at(connection), *gaps[0], _DEFERRED_BATCH)
        ), remaining
    finally:
        connection.execute("ROLLBACK")


def _segment_of(leg: Leg, rows: Rows, folder: Path) -> Built:
    first_key, last_key = int(rows.keys[0]), int(rows.keys[-1])
    return write(leg, leg.build(rows), rows.keys, rows.tie_ranks, first_key, last_key, folder)


def _publish(writer: Writer, segment: Built, rows: Rows) -> None:
    """Publish, unless another process was faster; rows deleted since they were read are dead in it."""
    encoded = segment.encoded

    def change(connection: Connection) -> list[Built]:
        entries_of_leg = manifest.entries(connection, encoded.leg)
        if any(
            e.fingerprint == encoded.fingerprint and e.first <= encoded.last and e.last >= encoded.first
            for e in entries_of_leg
        ):
            segment.discard()
            return []
        manifest.bury_missing(connection, rows.keys)
        segment.publish(connection)
        return [segment]

    writer.change_manifest(change)
