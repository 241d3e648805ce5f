"""The manifest: which segments one version of the index consists of.

The manifest is the table `segments`: for each leg, ranges of keys that do not overlap, each answered for by one
segment. Keys of no range are *gaps*; rows in a gap are uncovered. Deleted rows that a segment still holds are named
by the table `tombstones`, with the generation that deleted them.
"""

from __future__ import annotations

import errno
import mmap
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.segments import Encoded, Opened, verify
from sleuth.store.legs.leg import Bitmap, Leg, SegmentView, pack
from sleuth.store.record.layout import Connection, select_in
from sleuth.store.record.scan import pairs, rows_between


class SegmentEntry(NamedTuple):
    """A row of the manifest."""

    name: str
    leg: str
    fingerprint: str
    first: int
    last: int
    rows: int
    bytes: int
    checksum: int
    inline: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """All attached legs as one generation sees them.

    Attributes:
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

    def names(self) -> set[str]:
        """Return the names of all segments."""
        return {view.name for views in self.views.values() for view in views}


class SegmentMissingError(Exception):
    """A segment file that the manifest names is not there: merged away meanwhile, or lost."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def entries(connection: Connection, leg: str | None = None) -> list[SegmentEntry]:
    """Return the manifest, or a leg's part of it, in order of key."""
    rows = connection.execute(
        "SELECT name, leg, fingerprint, first, last, rows, bytes, checksum, inline IS NOT NULL FROM segments "
        "WHERE ?1 IS NULL OR leg = ?1 ORDER BY leg, first",
        (leg,),
    )
    return [_entry(row) for row in rows]


_KINDS = (str, str, str, int, int, int, int, int, int)
"""The types of the columns of an entry."""


def _entry(row: tuple[Any, ...]) -> SegmentEntry:
    entry = SegmentEntry._make(row)
    if not (all(map(isinstance, row, _KINDS)) and segments.is_name(entry.name)):
        raise IndexDamagedError(
            f"the manifest names a segment {entry.name!r} that Sleuth did not write: restore the index from a copy, "
            "or remove it and index again"
        )
    return entry


def gaps(ranges: Sequence[tuple[int, int]], next_key: int) -> Iterator[tuple[int, int]]:
    """Yield what `ranges`, ascending and inclusive, leave of 1 to `next_key - 1`."""
    at = 1
    for first, end in ranges:
        if first > at:
            yield at, first - 1
        at = max(at, end + 1)
    if at < next_key:
        yield at, next_key - 1


def occupied(connection: Connection, first: int, last: int) -> int:
    """Return how many chunks of the record lie in a range that does not cut a document."""
    count: int = connection.execute(
        "SELECT coalesce(sum(chunks), 0) FROM documents WHERE key BETWEEN ? AND ?", (first, last)
    ).fetchone()[0]
    return count


def uncovered(connection: Connection, leg: Leg, bad: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """Return the gaps of a leg in which the record has rows."""
    good = [
        e for e in entries(connection, leg.name) if e.fingerprint == leg.fingerprint and e.name not in bad
    ]
    next_key = connection.execute("SELECT next_key FROM state").fetchone()[0]
    uncovered_ranges = gaps([(e.first, e.last) for e in good], next_key)
    return [(first, last) for first, last in uncovered_ranges if occupied(connection, first, last)]


def open_segment(
    connection: Connection, folder: Path, entry: SegmentEntry, leg: Leg | None = None, *, full: bool = False
) -> Opened:
    """Return the segment of an entry.

    Args:
        leg: whose segment it is: arrays made with its settings are validated too, at length where `full`.

    Raises:
        SegmentMissingError: its file is not there, or its entry: a writer merged it meanwhile.
        IndexDamagedError: it is not as it was written, as far as its size and header tell, or not the leg's.
        StoreError: it cannot be opened now, as where too many files are open.
    """
    segment = _read_segment(connection, folder, entry)
    keys = segment.key_list
    if len(keys) != entry.rows or (len(keys) and not entry.first <= keys[0] <= keys[-1] <= entry.last):
        raise IndexDamagedError(f"segment {entry.name}: its rows are not those of the manifest")
    if leg is not None and leg.fingerprint == entry.fingerprint:
        segments.validate(segment, leg, full=full)
    return segment


def _read_segment(connection: Connection, folder: Path, entry: SegmentEntry) -> Opened:
    def most() -> int:
        # Only a segment whose rows need no bytes, as where none has metadata, has more rows than bytes; each has a row
        # in the record, which takes some there.
        size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        return int(connection.execute(size).fetchone()[0])

    if entry.inline:
        row = connection.execute("SELECT inline FROM segments WHERE name = ?", (entry.name,)).fetchone()
        if row is None:
            raise SegmentMissingError(entry.name)
        (inline,) = row
        if not isinstance(inline, bytes):
            raise IndexDamagedError(f"segment {entry.name}: its bytes are not as they were written")
        return segments.decode(entry.name, inline, entry.checksum, most_rows=most)
    try:
        return segment_files.read(folder, entry.name, entry.bytes, entry.checksum, most_rows=most)
    except FileNotFoundError as error:
        raise SegmentMissingError(entry.name) from error
    except OSError as error:
        if error.errno == errno.EIO:
            raise IndexDamagedError(f"segment {entry.name} cannot be read: {error.strerror}") from error
        raise StoreError(
            f"segment {entry.name} cannot be read now: {error.strerror}; try again", path=str(folder)
        ) from error


def publish(connection: Connection, segment: Encoded, *, inline: bool) -> None:
    """Name a segment in the manifest; what it was made from must be gone from it.

    Args:
        inline: keep its bytes in the manifest too, as they are in no file.
    """
    content = b"".join(segment.parts) if inline else None
    connection.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (segment.name, segment.leg, segment.fingerprint, segment.first, segment.last, segment.rows, segment.size,
         segment.checksum, content),
    )  # fmt: skip


def purge_tombstones(connection: Connection, folder: Path, first: int, last: int) -> None:
    """Forget the tombstones of `first` to `last` that no segment holds any more."""
    dead = _tombstones(connection, "key BETWEEN ? AND ?", (first, last))
    is_needed = np.zeros(len(dead), bool)
    for entry in entries(connection):
        if len(dead) and entry.first <= last and entry.last >= first:
            try:
                is_needed |= np.isin(dead, open_segment(connection, folder, entry).keys, assume_unique=True)
            except (SegmentMissingError, IndexDamagedError):  # nothing is dropped too early
                is_needed |= (dead >= entry.first) & (dead <= entry.last)
    connection.executemany(
        "DELETE FROM tombstones WHERE key = ?", ((key,) for key in dead[~is_needed].tolist())
    )


def _tombstones(connection: Connection, where: str, values: tuple[int, ...]) -> NDArray[np.int64]:
    rows = connection.execute(f"SELECT key FROM tombstones WHERE {where} ORDER BY key", values)
    return np.fromiter((key for (key,) in rows), np.int64)


@dataclass(slots=True)
class _Cached:
    """An open segment, and which of its rows are dead as of a generation."""

    opened: Opened
    generation: int
    dead: NDArray[np.bool_] | None = None
    live: Bitmap | None = None


@dataclass
class Views:
    """The views of the attached legs; kept while nothing changes, renewed piece by piece when something does.

    Attributes:
        folder: of the segment files.
        damage: what was found wrong with segments, by name; they are served from memory instead.
        losses: how often one was noted.
        own_segments: small segments of this process's last commit by name, which need not be read again.
    """

    folder: Path
    legs: Mapping[str, Leg] = field(default_factory=dict)
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
            self._newest = None
            self._memory.clear()

    def forget(self, names: Sequence[str]) -> None:
        """Reopen these segments at the next request."""
        with self._lock:
            self._newest = None
            for name in names:
                self._cache.pop(name, None)
                self.damage.pop(name, None)

    def opened(self, name: str) -> Opened | None:
        """Return a segment that is open; None for others."""
        item = self._cache.get(name)
        return item.opened if item else None

    def prove(self, name: str) -> bool:
        """Read every byte of an open segment; return whether it is undamaged.

        A damaged one is noted, and served from memory from the next query on.
        """
        segment = self.opened(name)
        if segment is None:
            return name not in self.damage
        wrong = verify(segment)
        if not wrong:
            return True
        self._note(name, wrong)
        return False

    def _note(self, name: str, wrong: str) -> None:
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
                names = {view.name for views in views_of_version.views.values() for view in views}
                self._cache = {name: item for name, item in self._cache.items() if name in names}
            return views_of_version

    def _load(self, connection: Connection, generation: int) -> Loaded:
        next_key = connection.execute("SELECT next_key FROM state").fetchone()[0]
        by_leg: dict[str, list[SegmentEntry]] = {name: [] for name in self.legs}
        for entry in entries(connection):
            leg = self.legs.get(entry.leg)
            if leg is not None and leg.fingerprint == entry.fingerprint:
                by_leg[entry.leg].append(entry)
        views, holes = {}, {}
        oldest = min((item.generation for item in self._cache.values()), default=generation)
        dead = _tombstones(connection, "generation > ?", (oldest,))
        for name, leg in self.legs.items():
            ranges = [
                (e.first, e.last, v)
                for e in by_leg[name]
                if (v := self._view(connection, e, generation, dead))
            ]
            free = tuple(gaps([(first, last) for first, last, _ in ranges], next_key))
            if name in self.deferred:
                holes[name] = free
            else:
                ranges += [
                    item for first, last in free for item in self._in_memory(connection, leg, first, last)
                ]
            views[name] = tuple(view for _, _, view in sorted(ranges, key=lambda item: item[0]))
        names = {view.name for views_of_leg in views.values() for view in views_of_leg}
        files = {
            name: item.opened.file
            for name, item in self._cache.items()
            if name in names and item.opened.file is not None
        }
        return Loaded(
            generation, self.losses, MappingProxyType(views), MappingProxyType(holes), MappingProxyType(files)
        )

    def _view(
        self, connection: Connection, entry: SegmentEntry, generation: int, dead: NDArray[np.int64]
    ) -> SegmentView | None:
        """Return the view of an entry; None where it is damaged, which is noted."""
        if entry.name in self.damage:
            return None
        item = self._cache.get(entry.name)
        try:
            if item is None:
                segment = self.own_segments.get(entry.name) or open_segment(
                    connection, self.folder, entry, self.legs[entry.leg]
                )
                item = self._cache[entry.name] = _read_dead(connection, segment, entry, generation)
            elif item.generation < generation:
                _bury(item, dead)
                item.generation = generation
            elif item.generation > generation:  # a transaction older than what others have seen
                item = _read_dead(connection, item.opened, entry, generation)
        except IndexDamagedError as error:
            self._note(entry.name, str(error))
            return None
        segment = item.opened
        return SegmentView(
            segment.name, segment.key_list, segment.tie_ranks, item.live, segment.arrays, segment.meta
        )

    def note_missing(self, name: str) -> None:
        """Take a segment for lost: its rows are served from memory from now on."""
        self._note(name, f"segment {name}: its file is missing")

    def _in_memory(
        self, connection: Connection, leg: Leg, first: int, last: int
    ) -> list[tuple[int, int, SegmentView]]:
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
            views_in_memory = []
            for rows in rows_between(connection, first, last) if count else ():
                data = leg.build(rows)
                name = segments.new_name(f"memory_{leg.name}", int(rows.keys[0]), int(rows.keys[-1]))
                views_in_memory.append(
                    SegmentView(name, rows.keys, rows.tie_ranks, None, data.arrays, data.meta)
                )
            views = tuple(views_in_memory)
            self._memory[where] = ((count, total), views)
        return [(int(view.keys[0]), int(view.keys[-1]), view) for view in views]


def _read_dead(connection: Connection, segment: Opened, entry: SegmentEntry, generation: int) -> _Cached:
    item = _Cached(segment, generation)
    _bury(item, _tombstones(connection, "key BETWEEN ? AND ?", (entry.first, entry.last)))
    return item


def _bury(item: _Cached, keys: NDArray[np.int64]) -> None:
    """Mark rows as dead, in new arrays: views that are in use do not change.

    Args:
        keys: ascending; those of other segments do not matter. Tombstones stay while any segment in the manifest holds
            their row.
    """
    key_list = item.opened.key_list
    if not len(keys) or not len(key_list) or keys[-1] < key_list[0] or key_list[-1] < keys[0]:
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


def drop(connection: Connection, names: Sequence[str]) -> None:
    """Take segments out of the manifest."""
    connection.executemany("DELETE FROM segments WHERE name = ?", ((name,) for name in names))


def still_there(connection: Connection, names: Sequence[str]) -> bool:
    """Return whether the manifest names all of these."""
    return len(select_in(connection, "name", "segments", "name", names)) == len(names)


def bury_missing(connection: Connection, keys: NDArray[np.int64]) -> None:
    """Note as deleted those rows that the record no longer has."""
    present_keys = record_keys(connection, int(keys[0]), int(keys[-1]))
    generation = connection.execute("SELECT generation FROM state").fetchone()[0] + 1
    missing = np.setdiff1d(keys, present_keys, assume_unique=True).tolist()
    connection.executemany(
        "INSERT OR IGNORE INTO tombstones VALUES (?, ?)", ((key, generation) for key in missing)
    )


def record_keys(connection: Connection, first: int, last: int) -> NDArray[np.int64]:
    """Keys of the chunks of documents with keys in a range; shape (n,), ascending."""
    rows = connection.execute(
        "SELECT key, chunks FROM documents WHERE key BETWEEN ? AND ? AND chunks > 0 ORDER BY key",
        (first, last),
    )
    starts, counts = pairs(rows).T
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    keys: NDArray[np.int64] = np.repeat(starts, counts) + within
    return keys
