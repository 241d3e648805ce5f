"""The manifest: which segments one version of the index consists of.

The manifest is the table `segments`: for each leg, ranges of keys that do not overlap, each answered for by one
segment. Keys of no range are *gaps*; rows in a gap are uncovered. Deleted rows that a segment still holds are named
by the table `tombstones`, with the generation that deleted them. A segment lies in a file, or a small one in the
manifest itself.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.errors import IndexDamagedError, StoreError
from sleuth.store.catalogue import segment_files, segments
from sleuth.store.catalogue.segments import Encoded, Opened
from sleuth.store.disk.files import opened_folder
from sleuth.store.disk.scratch import pieces
from sleuth.store.legs.leg import Leg, RowKeys, SegmentData, SegmentKind
from sleuth.store.passages.kind import PASSAGES
from sleuth.store.record.layout import Connection
from sleuth.store.record.scan import pairs

INLINE_BYTES = 1 << 16
"""Segments up to this size live in the record: no file, no further sync."""


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


class Built:
    """A segment that no committed manifest names yet. The lock of its file tells sweepers that it is no orphan.

    Attributes:
        encoded: without its parts where they are in a file, else in one part.
        held: whether it is in a file; a small one goes into the record.
        opened: the same for readers in this process, which then need not wait for that; None until `open`.
    """

    def __init__(self, folder: Path, encoded: Encoded, most_inline: int | None = None) -> None:
        """Write a segment to where it will live.

        A file is synced; the folder is synced by the caller, once for several files.

        Args:
            most_inline: bytes of the largest one that goes into the record; `INLINE_BYTES` if None.

        Raises:
            StoreError: it could not be written; nothing is left of it.
        """
        self._fd = -1
        self.opened: Opened | None = None
        self.held = encoded.size > (INLINE_BYTES if most_inline is None else most_inline)
        self.path = folder / f"{encoded.name}{segment_files.SUFFIX}"
        if not self.held:
            self.encoded = encoded._replace(parts=(b"".join(encoded.parts),))
            return
        self.encoded = encoded._replace(parts=())  # it may wait long for its commit
        temporary = self.path.with_suffix(segment_files.TEMPORARY)
        try:
            with opened_folder(folder) as within:
                try:
                    self._fd = segment_files.create_locked(temporary, within)
                    with os.fdopen(self._fd, "wb", closefd=False) as file:
                        for part in encoded.parts:
                            file.writelines(pieces(memoryview(part)))
                    os.fsync(self._fd)
                    within.rename(temporary.name, self.path.name)
                except BaseException:
                    self.release()
                    with suppress(OSError):
                        within.remove(temporary.name)
                    raise
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", path=str(self.path)) from error

    def open(self, kind: SegmentKind) -> None:
        """Open it for readers in this process. A small one needs no validation: nobody else had its arrays."""
        encoded = self.encoded
        name, checksum, most_rows = encoded.name, encoded.checksum, lambda: encoded.rows
        if not self.held:
            (content,) = encoded.parts
            self.opened = segments.decode(name, bytes(content), checksum, most_rows=most_rows)
            return
        with suppress(IndexDamagedError, OSError):  # of crafted inputs, or no descriptor: a reader notes it
            opened = segment_files.read(self.path.parent, name, encoded.size, checksum, most_rows=most_rows)
            segments.validate(opened, kind)
            self.opened = opened

    def publish(self, connection: Connection) -> None:
        """Name it in the manifest, in the open transaction."""
        segment, content = self.encoded, next(iter(self.encoded.parts), None)
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (segment.name, segment.leg, segment.fingerprint, segment.first, segment.last, segment.rows, segment.size,
             segment.checksum, content),
        )  # fmt: skip

    def release(self) -> None:
        """Give the file up: a manifest names it now, or it may be swept."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1  # first, so that an interruption makes nobody close it twice
            os.close(fd)

    def discard(self) -> None:
        """Remove the file: nothing will name it."""
        if self.held:
            segment_files.remove(self.path.parent, self.path.stem)
            self.release()


def write(  # noqa: PLR0917 - what a segment consists of
    kind: SegmentKind, data: SegmentData, keys: RowKeys, tie_ranks: NDArray[np.uint32] | None, first: int, last: int,
    folder: Path,
) -> Built:  # fmt: skip
    """Return a segment of these arrays, which answers for the keys `first` to `last`; it is open."""
    segment = Built(folder, segments.encode(kind.name, kind.fingerprint, first, last, keys, tie_ranks, data))
    if segment.held:
        del data
        platform.trim()
    segment.open(kind)
    return segment


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
