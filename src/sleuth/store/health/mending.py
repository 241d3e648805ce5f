"""Finds what legs lack, and rebuilds it from the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sleuth.errors import IndexDamagedError, amount
from sleuth.store.catalogue import manifest, merging, segment_files
from sleuth.store.catalogue.manifest import Built, SegmentEntry, SegmentMissingError, write
from sleuth.store.catalogue.views import Views, passages_of
from sleuth.store.legs.leg import Leg, Rows, SegmentView, pack
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record.layout import Connection
from sleuth.store.record.scan import rows_between
from sleuth.store.record.values import Repair

if TYPE_CHECKING:
    from sleuth.store.writing.writer import Writer

_DEFERRED_BATCH = 8 << 20
"""Characters of text in one step of a build that can be resumed."""


class Problem(NamedTuple):
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
            whys = sorted(set(reasons.values())) or [f"{amount(rows, 'row')} not indexed"]
            problems.append(
                Problem(leg, bad, tuple(gaps), "; ".join(whys[:3]) + ("; ..." if len(whys) > 3 else ""))
            )
    return problems


def mend(connection: Connection, writer: Writer, views: Views) -> list[Repair]:
    """Drop what cannot serve and index what is uncovered, leg by leg; each batch is committed.

    Args:
        connection: for reading; nobody else writes meanwhile.
    """
    passages = passages_of(views.folder, connection)
    messages = []
    for problem in problems(connection, views):
        if problem.bad:
            exchange(writer, views, problem.bad)
        rows = 0
        for gap in problem.gaps:
            for batch in rows_between(connection, passages, *gap):
                _publish(writer, _segment_of(problem.leg, batch, views.folder), batch)
                rows += len(batch)
        messages.append(Repair(problem.leg.name, f"{problem.why}: {amount(rows, 'row')} indexed"))
    return messages


def exchange(
    writer: Writer,
    views: Views,
    entries: Sequence[SegmentEntry],
    make: Callable[[Connection], list[Built]] = lambda _: [],
) -> None:
    """Take segments out of the manifest and then from the disk.

    Args:
        make: makes other changes of the same commit, and segments that are named instead.
    """
    names = [entry.name for entry in entries]

    def change(connection: Connection) -> list[Built]:
        segments = make(connection)
        manifest.drop(connection, names)
        for segment in segments:
            segment.publish(connection)
        if entries:
            first_key, last_key = min(entry.first for entry in entries), max(entry.last for entry in entries)
            manifest.purge_tombstones(connection, views.folder, first_key, last_key)
        return segments

    writer.change_manifest(change)
    for name in names:
        segment_files.remove(views.folder, name)
    views.forget(names)


def renew(writer: Writer, views: Views, entry: SegmentEntry) -> None:
    """Write a segment of passages again, with the rows that the record still has; drop one that does not open."""

    def written_again(connection: Connection) -> list[Built]:
        with suppress(SegmentMissingError, IndexDamagedError):
            segment = manifest.open_segment(connection, views.folder, entry, PASSAGES)
            live = np.isin(segment.keys, manifest.record_keys(connection, entry.first, entry.last))
            view = SegmentView(segment.name, segment.key_list, None, pack(live), segment.arrays, segment.meta)
            merge = merging.merge(PASSAGES, [entry], [view], views.folder)
            return [merge.built] if merge.built else []
        return []

    exchange(writer, views, [entry], written_again)


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
    while True:
        passages = passages_of(views.folder, connection)
        try:
            gaps = manifest.uncovered(connection, leg)
            if not gaps:
                return rows_built
            remaining = sum(manifest.occupied(connection, *gap) for gap in gaps)
            rows = next(rows_between(connection, passages, *gaps[0], _DEFERRED_BATCH))
        finally:
            connection.let_go()
        segment = _segment_of(leg, rows, views.folder)
        with writing() as writer:
            _publish(writer, segment, rows)
        rows_built += len(rows)
        tried = max(tried, rows_built + remaining - len(rows))
        if progress:
            progress(rows_built, tried)


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
