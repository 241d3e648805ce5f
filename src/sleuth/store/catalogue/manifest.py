"""The manifest: which segments one version of the index consists of.

The manifest is the table `segments`: for each leg, ranges of keys that do not overlap, each answered for by one
segment. Keys of no range are *gaps*; rows in a gap are uncovered. Deleted rows that a segment still holds are named
by the table `tombstones`, with the generation that deleted them.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.segments import Opened
from sleuth.store.legs.leg import Leg, SegmentKind
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record.layout import Connection
from sleuth.store.record.scan import pairs


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


_KINDS = (str, str, str, int, int, int, int, int, int)
"""The types of the columns of an entry."""


class SegmentMissingError(Exception):
    """A segment file that the manifest names is not there: merged away meanwhile, or lost."""

    def __init__(self, name: str) -> None:
        super().__init__(f"segment {name}: its file is missing")
        self.name = name


def entries(connection: Connection, leg: str | None = None) -> list[SegmentEntry]:
    """Return the manifest, or a leg's part of it, in order of key."""
    rows = connection.execute(
        "SELECT name, leg, iif(fingerprint = :earlier, :now, fingerprint), first, last, rows, bytes, checksum, "
        "inline IS NOT NULL FROM segments WHERE :leg IS NULL OR leg = :leg ORDER BY leg, first",
        {"leg": leg, "earlier": PASSAGES.earlier, "now": PASSAGES.fingerprint},
    )
    of_leg = list(map(SegmentEntry._make, rows))
    for entry in of_leg:
        if not (all(map(isinstance, entry, _KINDS)) and segments.is_name(entry.name)):
            raise IndexDamagedError(
                f"the manifest names a segment {entry.name!r} that Sleuth did not write: restore the index from a "
                "copy, or remove it and index again"
            )
    return of_leg


def gaps(ranges: Iterable[tuple[int, int]], next_key: int) -> list[tuple[int, int]]:
    """Return what `ranges`, ascending and inclusive, leave of 1 to `next_key - 1`."""
    free, at = [], 1
    for first, end in ranges:
        if first > at:
            free.append((at, first - 1))
        at = max(at, end + 1)
    return [*free, (at, next_key - 1)] if at < next_key else free


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
    return [gap for gap in uncovered_ranges if occupied(connection, *gap)]


def open_segment(
    connection: Connection,
    folder: Path,
    entry: SegmentEntry,
    leg: SegmentKind | None = None,
    *,
    full: bool = False,
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
        # Only a segment whose rows need no bytes, as where none has metadata, has more rows than bytes; each has a
        # record among the passages, which takes some there.
        size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        return sum(
            (file.stat().st_size for file in folder.iterdir()), int(connection.execute(size).fetchone()[0])
        )

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


def purge_tombstones(connection: Connection, folder: Path, first: int, last: int) -> None:
    """Forget the tombstones of `first` to `last` that no segment holds any more."""
    dead = tombstones(connection, "key BETWEEN ? AND ?", (first, last))
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


def tombstones(connection: Connection, where: str, values: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the keys of deleted rows that a condition of SQL holds for, ascending, shape (n,)."""
    rows = connection.execute(f"SELECT key FROM tombstones WHERE {where} ORDER BY key", values)
    return np.fromiter(chain.from_iterable(rows), np.int64)


def drop(connection: Connection, names: Sequence[str]) -> None:
    """Take segments out of the manifest."""
    connection.executemany("DELETE FROM segments WHERE name = ?", ((name,) for name in names))


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
