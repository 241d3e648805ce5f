"""What the manifest names, opened: the passages and the segments of each leg as one version sees them."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.manifest import (
    SegmentEntry,
    SegmentMissingError,
    entries,
    gaps,
    open_segment,
    tombstones,
)
from sleuth.store.catalogue.segments import Opened
from sleuth.store.disk.scratch import address
from sleuth.store.legs.leg import Bitmap, Leg, SegmentKind, SegmentView, pack
from sleuth.store.passages.blocks import Passages
from sleuth.store.passages.kind import OFFSETS, PASSAGES, RECORDS
from sleuth.store.record.layout import Connection
from sleuth.store.record.scan import rows_between


class Loaded(NamedTuple):
    """Passages and all attached legs as one generation sees them.

    Attributes:
        passages: texts and metadata by key.
        losses: how often a segment was noted as damaged or missing before: its views are others then.
        views: by leg, in order of key.
        gaps: by deferred leg, the ranges that no segment answers for.
        files: mapped files by segment name.
    """

    generation: int
    losses: int
    views: Mapping[str, tuple[SegmentView, ...]]
    gaps: Mapping[str, tuple[tuple[int, int], ...]]
    files: Mapping[str, mmap.mmap]
    passages: Passages


@dataclass(slots=True)
class _Cached:
    """An open segment, and which of its rows are dead as of a generation.

    Attributes:
        erased: the dead rows whose texts were overwritten.
        descriptor: of the file of passages, open as long as it is mapped; -1 for others.
    """

    opened: Opened
    generation: int
    dead: NDArray[np.bool_] | None = None
    live: Bitmap | None = None
    erased: NDArray[np.bool_] | None = None
    descriptor: int = -1


@dataclass
class Views:
    """The views of passages and of the attached legs; renewed piece by piece when something changes.

    Attributes:
        folder: of the segment files.
        legs: those that are attached, by name.
        kinds: passages and these.
        damage: what was found wrong with segments, by name; they are served from memory instead.
        losses: how often one was noted.
        own_segments: segments of this process's last commit by name, which are open: no query waits for that.
    """

    folder: Path
    legs: Mapping[str, Leg] = field(default_factory=dict)
    kinds: Mapping[str, SegmentKind] = field(default_factory=lambda: {PASSAGES.name: PASSAGES})
    deferred: frozenset[str] = frozenset()
    damage: dict[str, str] = field(default_factory=dict)
    losses: int = 0
    own_segments: Mapping[str, Opened] = field(default_factory=dict)
    _newest: Loaded | None = None
    _cache: dict[str, _Cached] = field(default_factory=dict)
    _memory: dict[tuple[str, str, int, int], tuple[tuple[int, int], tuple[SegmentView, ...]]] = field(
        default_factory=dict
    )
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def attach(self, legs: Sequence[Leg], deferred: frozenset[str]) -> None:
        """Serve these legs from now on."""
        with self._lock:
            self.legs, self.deferred = {leg.name: leg for leg in legs}, deferred
            self.kinds = {PASSAGES.name: PASSAGES, **self.legs}
            self._newest = None
            self._memory.clear()

    def erasable(self) -> list[tuple[_Cached, NDArray[np.bool_]]]:
        """Return the files of passages that hold texts of deleted rows, each with its dead rows."""
        with self._lock:
            views = self._newest.views[PASSAGES.name] if self._newest else ()
            items = [self._cache[view.name] for view in views if view.name in self._cache]
            return [
                (item, item.dead)
                for item in items
                if item.dead is not None and item.dead is not item.erased and item.opened.file is not None
            ]

    def forget(self, names: Sequence[str]) -> None:
        """Reopen these segments at the next request."""
        with self._lock:
            self._newest = None
            for name in names:
                self._cache.pop(name, None)
                self.damage.pop(name, None)

    def note(self, name: str, wrong: str) -> None:
        """Serve the rows of a segment from memory from now on."""
        with self._lock:
            self.damage[name] = wrong
            self.losses += 1
            self._cache.pop(name, None)
            self._newest = None

    def after_fork(self) -> None:
        """Run in a forked child: replace a lock that another thread of the parent may have held."""
        self._lock = threading.RLock()

    def at(self, connection: Connection, generation: int) -> Loaded:
        """Return the views of the generation that this connection's transaction sees.

        Raises:
            SegmentMissingError: a file is gone; a newer transaction may not need it.
            IndexDamagedError: a mapped file is shorter than it was: reading beyond its end kills the process.
        """
        newest = self._newest
        if newest is not None and newest.generation == generation:
            for name, file in newest.files.items():
                if file.size() < len(file):
                    raise IndexDamagedError(
                        f"segment {name} was cut off while it was open: close the index and run "
                        "`sleuth doctor --repair`"
                    )
            return newest
        with self._lock:
            newest = self._newest
            if newest is not None and newest.generation == generation:
                return newest
            views_of_version = self._load(connection, generation)
            if newest is None or newest.generation < generation:
                self._newest = views_of_version
                names = {view.name for view in chain.from_iterable(views_of_version.views.values())}
                self._cache = {name: item for name, item in self._cache.items() if name in names}
            return views_of_version

    def _load(self, connection: Connection, generation: int) -> Loaded:
        next_key = connection.execute("SELECT next_key FROM state").fetchone()[0]
        dead = self._newly_dead(connection, generation)
        views_of: dict[str, list[SegmentView]] = {name: [] for name in self.kinds}
        ranges_of: dict[str, list[tuple[int, int]]] = {name: [] for name in self.kinds}
        mapped: dict[str, mmap.mmap] = {}
        for entry in entries(connection):
            kind = self.kinds.get(entry.leg)
            if kind is None or kind.fingerprint != entry.fingerprint:
                continue
            view = self._view(connection, entry, generation, dead)
            if view is not None and entry.rows:
                views_of[entry.leg].append(view)
                ranges_of[entry.leg].append((entry.first, entry.last))
                if (file := self._cache[entry.name].opened.file) is not None:
                    mapped[entry.name] = file
        parts = []
        for view in views_of[PASSAGES.name]:
            item, records = self._cache[view.name], view.arrays[RECORDS]
            base = address(records) - address(item.opened.file) if item.opened.file else 0
            parts.append((view.key_list, view.arrays[OFFSETS], records, item.descriptor, base))
        passages = Passages(parts, connection.salt)
        holes = {}
        for name, leg in self.legs.items():
            free = gaps(ranges_of[name], next_key)
            if name in self.deferred:
                holes[name] = tuple(free)
            elif free:
                built = [view for gap in free for view in self._in_memory(connection, passages, leg, *gap)]
                views_of[name] = sorted(views_of[name] + built, key=lambda view: view.key_list[0])
        return Loaded(
            generation,
            self.losses,
            MappingProxyType(dict(zip(views_of, map(tuple, views_of.values()), strict=True))),
            MappingProxyType(holes),
            MappingProxyType(mapped),
            passages,
        )

    def newest(self, connection: Connection) -> tuple[Loaded, int]:
        """Hold a connection to the newest version for which all files are at hand: its views and its number.

        A file that is missing twice is taken for lost.
        """
        missing: tuple[int, str] | None = None
        while True:
            generation, version = connection.hold()
            try:
                return self.at(connection, generation), version
            except SegmentMissingError as error:
                connection.let_go()
                if missing == (generation, error.name):  # not merged away: lost
                    self.note(error.name, str(error))
                missing = generation, error.name

    def _newly_dead(self, connection: Connection, generation: int) -> NDArray[np.int64]:
        """Return the keys of rows that were deleted since the oldest look at an open segment."""
        oldest = min([item.generation for item in self._cache.values()], default=generation)
        return tombstones(connection, "generation > ?", (oldest,))

    def _view(
        self, connection: Connection, entry: SegmentEntry, generation: int, dead: NDArray[np.int64]
    ) -> SegmentView | None:
        """Return the view of an entry; None where it is damaged, which is noted."""
        name, kind = entry.name, self.kinds[entry.leg]
        if name in self.damage:
            return None
        item = self._cache.get(name)
        try:
            if item is None:
                segment = self.own_segments.get(name) or open_segment(connection, self.folder, entry, kind)
                item = self._cache[name] = _read_dead(connection, segment, entry, generation)
                if entry.leg == PASSAGES.name and segment.file is not None:
                    item.descriptor = segment_files.stay_open(self.folder, segment)
            elif item.generation < generation:
                if len(dead):
                    _bury(item, dead)
                item.generation = generation
            elif item.generation > generation:  # the inline copy of a newer one lacks texts deleted since
                segment = open_segment(connection, self.folder, entry, kind) if entry.inline else item.opened
                item = _read_dead(connection, segment, entry, generation)
        except IndexDamagedError as error:
            self.note(name, str(error))
            return None
        segment = item.opened
        return SegmentView(
            segment.name, segment.key_list, segment.tie_ranks, item.live, segment.arrays, segment.meta
        )

    def faults(self, connection: Connection, entries: Sequence[SegmentEntry], leg: Leg) -> dict[str, str]:
        """Open the segments of a leg; return by name why others cannot serve, as far as headers and facts tell."""
        reasons: dict[str, str] = {}
        with self._lock:
            generation = connection.execute("SELECT generation FROM state").fetchone()[0]
            dead = self._newly_dead(connection, generation)
            for entry in entries:
                if entry.fingerprint != leg.fingerprint:
                    reasons[entry.name] = f"made with {entry.fingerprint!r}, asked for {leg.fingerprint!r}"
                    continue
                try:
                    if self._view(connection, entry, generation, dead) is None:
                        reasons[entry.name] = self.damage[entry.name]
                except SegmentMissingError as error:
                    reasons[entry.name] = str(error)
        return reasons

    def _in_memory(
        self, connection: Connection, passages: Passages, leg: Leg, first: int, last: int
    ) -> tuple[SegmentView, ...]:
        """Segments of the rows in a gap, built now and kept while the gap holds the same rows.

        Keys are never given twice and rows never change, so equal count and sum mean equal rows.
        """
        count, total = connection.execute(
            "SELECT coalesce(sum(chunks), 0), coalesce(sum(key), 0) FROM documents WHERE key BETWEEN ? AND ?",
            (first, last),
        ).fetchone()
        where = (leg.name, leg.fingerprint, first, last)
        sums, views = self._memory.get(where, (None, ()))
        if sums != (count, total):
            views = ()
            for rows in rows_between(connection, passages, first, last) if count else ():
                data = leg.build(rows)
                name = segments.new_name(f"memory_{leg.name}", int(rows.keys[0]), int(rows.keys[-1]))
                views += (SegmentView(name, rows.keys, rows.tie_ranks, None, data.arrays, data.meta),)
            self._memory[where] = ((count, total), views)
        return views


def passages_of(folder: Path, connection: Connection) -> Passages:
    """Return the passages of the newest version, and hold the connection to it; no leg is opened.

    Args:
        folder: of the segments.
    """
    return Views(folder).newest(connection)[0].passages


def _read_dead(connection: Connection, segment: Opened, entry: SegmentEntry, generation: int) -> _Cached:
    item = _Cached(segment, generation)
    if len(dead := tombstones(connection, "key BETWEEN ? AND ?", (entry.first, entry.last))):
        _bury(item, dead)
    return item


def _bury(item: _Cached, keys: NDArray[np.int64]) -> None:
    """Mark rows as dead, in new arrays: views that are in use do not change.

    Args:
        keys: ascending, at least one; those of other segments do not matter. Tombstones stay while any segment in the
            manifest holds their row.
    """
    key_list = item.opened.key_list
    if not len(key_list) or keys[-1] < key_list[0] or key_list[-1] < keys[0]:
        return
    segment_keys = item.opened.keys
    keys = keys[slice(*np.searchsorted(keys, (segment_keys[0], segment_keys[-1] + 1)))]
    at = np.searchsorted(segment_keys, keys)
    at = at[segment_keys[at] == keys]
    if item.dead is not None:
        at = at[~item.dead[at]]
    if not len(at):
        return
    dead = np.zeros(len(segment_keys), bool) if item.dead is None else item.dead.copy()
    dead[at] = True
    item.dead, item.live = dead, pack(~dead)
    item.live.flags.writeable = False
