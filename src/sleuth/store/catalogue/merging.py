"""Merges segments: which ones, when, and in which thread.

A leg's segments, in order of key, shrink geometrically: each holds more than `RATIO` times the rows of all that come
after it. Where that fails, the whole tail from there on is merged. So a row is written again a number of times that is
logarithmic in the rows that came after it, and a query reads about log3(n / 1024) + TINY segments. Segments that would
be larger than `MOST_ROWS` together are left alone.

Merges run in one thread that lives as long as there is something to do. Their inputs are immutable, so only
publishing the result needs the writer's lock; a writer of this process publishes what is ready with its own commit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.store.catalogue import manifest, segment_files
from sleuth.store.catalogue.manifest import Built, SegmentEntry, write
from sleuth.store.disk.scratch import Scratch
from sleuth.store.legs.leg import RowKeys, SegmentKind, SegmentView, count, unpack
from sleuth.store.record.layout import Connection, select_in

RATIO = 2
TINY = 4
"""A tail of at most this many segments with fewer than TINY_ROWS rows in all is left alone."""
TINY_ROWS = 1024
MOST_ROWS = 1 << 22
"""Rows that are merged into one segment. A merge takes some 20 bytes of memory for each: this bounds it, at 84 MB."""
DEAD_SHARE = 0.2
"""A segment with a larger share of deleted rows is written again."""


@dataclass(slots=True)
class Merged:
    """A merge that is done and waits to be published.

    Attributes:
        inputs: the segments that it replaces.
        first, last: the range of keys that they answer for.
        built: the new segment; None if no row is live.
        settled: set once it is published or given up.
    """

    inputs: tuple[SegmentEntry, ...]
    first: int
    last: int
    built: Built | None
    settled: threading.Event = field(default_factory=threading.Event)


def plan(rows: Sequence[int], live: Sequence[int]) -> tuple[int, int] | None:
    """Return which run of adjacent segments to merge next, as a half-open range; None where all is well.

    Args:
        rows: in each segment, in order of key.
        live: of them, those not deleted.
    """
    n = len(rows)
    for i in range(n - 1):
        total = sum(live[i:])
        if total < TINY_ROWS:
            if n - i > TINY:
                return i, n
            break
        if live[i] <= RATIO * (total - live[i]) and total <= MOST_ROWS:
            return i, n
    for i in range(n):
        if live[i] < (1 - DEAD_SHARE) * rows[i]:
            return i, i + 1
    return None


def runs(
    connection: Connection, entries: Iterable[SegmentEntry], views: Mapping[str, SegmentView]
) -> list[list[SegmentEntry]]:
    """Return adjacent segments that may become one: those with a view, and no uncovered rows between them."""
    adjacent: list[list[SegmentEntry]] = []
    end = 0
    for entry in entries:
        if entry.name in views:
            if not adjacent or (end < entry.first and manifest.occupied(connection, end, entry.first - 1)):
                adjacent.append([])
            adjacent[-1].append(entry)
            end = entry.last + 1
    return adjacent


def choose(
    run: Sequence[SegmentEntry], views: Mapping[str, SegmentView], *, whole: bool
) -> Sequence[SegmentEntry]:
    """Return the part of a run to merge next; all of it on request, unless it is one segment without deleted rows."""
    rows, live = [entry.rows for entry in run], []
    for entry in run:
        bits = views[entry.name].live
        live.append(entry.rows if bits is None else count(bits))
    if whole:
        return run if len(run) > 1 or rows != live else ()
    span = plan(rows, live)
    return run[slice(*span)] if span else ()


def merge(
    leg: SegmentKind,
    entries: Sequence[SegmentEntry],
    views: Sequence[SegmentView],
    folder: Path,
    ties: NDArray[np.uint32] | None = None,
) -> Merged:
    """Merge adjacent segments as their views see them.

    Args:
        ties: tie ranks of the live rows, whose keys are `live_keys`.
    """
    platform.give_blocks_back()  # a merge makes arrays of many MB
    keys, scratch = live_keys(views), Scratch(folder)
    first_key, last_key = entries[0].first, entries[-1].last
    if not len(keys):
        return Merged(tuple(entries), first_key, last_key, None)
    if ties is not None:
        ties = scratch.keep(ties)
    segment = write(leg, leg.merge(views, scratch), keys, ties, first_key, last_key, folder)
    return Merged(tuple(entries), first_key, last_key, segment)


def live_keys(views: Sequence[SegmentView]) -> RowKeys:
    """Return the keys of the live rows."""
    views = [view for view in views if len(view)]
    rows = sum(map(len, views))
    if rows and all(view.live is None for view in views):
        first_key, last_key = int(views[0].key_list[0]), int(views[-1].key_list[-1])
        if last_key - first_key == rows - 1:
            return range(first_key, last_key + 1)
    return np.concatenate(
        [np.zeros(0, np.int64)]
        + [view.keys if view.live is None else view.keys[unpack(view.live, len(view))] for view in views]
    )


def settle(merge_result: Merged, folder: Path) -> None:
    """Remove the input files of a committed merge. Readers that mapped them keep them."""
    if merge_result.built:
        merge_result.built.release()
    for entry in merge_result.inputs:
        if not entry.inline:
            segment_files.remove(folder, entry.name)
    merge_result.settled.set()


class Merges:
    """Merges of one store, between those who make them and those who publish them.

    Args:
        work: does one piece of work in the background; returns False after the last one.

    Attributes:
        ready: merges that wait for a commit.
    """

    def __init__(self, work: Callable[[], bool]) -> None:
        self._work = work
        self.error: BaseException | None = None
        self.deleted = False
        self.stopping = False
        self.finishing = False
        self.ready: deque[Merged] = deque()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._again = False

    # --- publishing, by the holder of the writer's lock

    def apply(self, connection: Connection, path: Path) -> list[Merged]:
        """Publish what is ready in the open transaction; give up what was overtaken."""
        applied = []
        while self.ready:
            merge_result = self.ready.popleft()
            applied.append(merge_result)
            try:
                names = [entry.name for entry in merge_result.inputs]
                if len(select_in(connection, "name", "segments", "name", names)) < len(names):
                    if merge_result.built:
                        merge_result.built.discard()
                    merge_result.settled.set()
                    applied.pop()
                    continue
                manifest.drop(connection, names)
                if merge_result.built:
                    merge_result.built.publish(connection)
                manifest.purge_tombstones(
                    connection, path / "segments", merge_result.first, merge_result.last
                )
            except BaseException:
                self.ready.extend(applied)
                raise
        return applied

    def forget(self, results: Sequence[Merged]) -> None:
        """The outcome of the commit is unknown: leave the files to a sweep."""
        for item in results:
            item.settled.set()

    def done(self, results: Sequence[Merged], path: Path) -> None:
        """Record that the commit succeeded."""
        for item in results:
            settle(item, path / "segments")

    # --- the thread

    def committed(self, *, deleted: bool) -> None:
        """Start merging after a commit; a thread that merges already looks again.

        Args:
            deleted: whether the commit deleted rows.
        """
        self.deleted |= deleted
        with self._lock:
            self._again = True
            if self._thread is None and not self.stopping:
                self._thread = threading.Thread(target=self._run, name="sleuth-merge")
                self._thread.start()

    def wait(self) -> None:
        """Wait until nothing is left to do; raises what went wrong."""
        self._join()
        if self.error:
            error, self.error = self.error, None
            raise error

    def finish(self) -> None:
        """Do all that is left, unless another process keeps the writer's lock."""
        self.finishing = True
        self._join()

    def _join(self) -> None:
        while thread := self._thread:
            thread.join()

    def stop(self) -> None:
        """Finish the piece of work that runs, start no other."""
        self.stopping = True
        if thread := self._thread:
            thread.join()

    def after_fork(self) -> None:
        """Run in a forked child: forget the parent's thread and its merges."""
        self._lock, self._thread, self._again = threading.Lock(), None, False
        self.ready = deque()

    def publish(self, merge_result: Merged, try_now: Callable[[], None]) -> None:
        """Wait until somebody has published it: a writer of this process, or `try_now`, which takes the lock."""
        self.ready.append(merge_result)
        given_up = None
        while not merge_result.settled.is_set():
            try_now()
            if self.stopping or self.finishing:
                given_up = given_up or time.monotonic() + 2.0
                if time.monotonic() > given_up:
                    self.stopping = True
                    with suppress(ValueError):
                        self.ready.remove(merge_result)
                        if merge_result.built:
                            merge_result.built.discard()
                        return
            merge_result.settled.wait(0.02)  # then it looks again whether to stop

    def _run(self) -> None:
        try:
            while True:
                with self._lock:
                    self._again = False
                while not self.stopping and self._work():
                    pass
                with self._lock:
                    if self.stopping or not self._again:
                        self._thread = None
                        return
        except BaseException as error:  # noqa: BLE001 - raised again by wait(), told by check()
            self.error = error
            with self._lock:
                self._thread = None
