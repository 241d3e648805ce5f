"""Turns rows into segments while the record takes them in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.store.catalogue import manifest, segments
from sleuth.store.catalogue.segment_files import Held
from sleuth.store.catalogue.segments import Encoded, Opened
from sleuth.store.legs.leg import Leg, RowKeys, Rows, SegmentData, SegmentKind
from sleuth.store.passages.kind import PASSAGES, passages_of
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.layout import Connection, DocumentRow
from sleuth.store.record.rows import documents_of, rows_of

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

INLINE_BYTES = 1 << 16
"""Segments up to this size live in the record: no file, no further sync."""
_WORTH_A_THREAD = 256


@dataclass(slots=True)
class Built:
    """A segment that no committed manifest names yet.

    Attributes:
        encoded: without its parts where they are in a file.
        held: its file, written and synced; None for one that goes into the record.
        copy: of a small one in memory, for readers in this process.
    """

    encoded: Encoded
    held: Held | None
    copy: Opened | None = None

    def publish(self, connection: Connection) -> None:
        """Name it in the manifest, in the open transaction."""
        manifest.publish(connection, self.encoded, inline=self.held is None)

    def release(self) -> None:
        """Give the file up: the manifest names it now, or never will."""
        if self.held:
            self.held.release()

    def discard(self) -> None:
        """Remove its file."""
        if self.held:
            self.held.discard()


def keep(encoded: Encoded, folder: Path, inline_bytes: int | None = None) -> Built:
    """Write a segment to where it will live: a file, or the record if it is small.

    Args:
        inline_bytes: largest small size; `INLINE_BYTES` if None.
    """
    if encoded.size <= (INLINE_BYTES if inline_bytes is None else inline_bytes):
        return Built(encoded, None)
    segment = Held(folder, encoded)
    return Built(replace(encoded, parts=()), segment)  # it may wait long for its commit


def build(leg: Leg, rows: Rows, first: int, last: int, folder: Path) -> Built:
    """Return a leg's segment of these rows, which answers for the keys `first` to `last`."""
    output = write(leg, leg.build(rows), rows.keys, rows.tie_ranks, first, last, folder)
    if output.held:
        platform.trim()
    return output


def write(  # noqa: PLR0917 - what a segment consists of
    kind: SegmentKind, data: SegmentData, keys: RowKeys, tie_ranks: NDArray[np.uint32] | None, first: int, last: int,
    folder: Path,
) -> Built:  # fmt: skip
    """Return a segment of these arrays, which answers for the keys `first` to `last`."""
    encoded = segments.encode(kind.name, kind.fingerprint, first, last, keys, tie_ranks, data)
    output = keep(encoded, folder)
    if not output.held:
        output.copy = segments.in_memory(encoded, keys, tie_ranks, data)
    return output


class Flight:
    """A batch that is being indexed: another thread builds its segments, while the writer goes on.

    Few rows are left to `land`, in the caller's thread: another one would cost more than it saves.

    Args:
        first, last: the keys that it answers for.
        salt: of the index.
        pool: of one thread.
    """

    def __init__(  # noqa: PLR0917 - the inputs and settings of a segment
        self, batch: DocumentBatch, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path,
        pool: Callable[[], ThreadPoolExecutor],
    ) -> None:  # fmt: skip
        self.batch = batch
        self._work = partial(_prepare, batch, first, last, legs, salt, folder)
        large = len(batch.texts) >= _WORTH_A_THREAD
        self._future = pool().submit(self._work) if large else None

    def wait(self) -> None:
        """Wait until it can land at once. An interruption leaves it as it is."""
        if self._future:
            self._future.exception()

    def land(self) -> Prepared:
        """Return its segments.

        Raises:
            Exception: what a leg raised; nothing is left on disk then.
        """
        return self._future.result() if self._future else self._work()

    def discard(self) -> None:
        """Remove the files that were written for it."""
        if self._future and not self._future.cancel():
            with suppress(Exception):  # the waiter gets the exception; ignore it here
                for segment in self._future.result().built:
                    segment.discard()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a batch becomes.

    Attributes:
        built: a segment of the passages and one for every leg.
        documents: what the record gets.
    """

    built: list[Built]
    documents: list[DocumentRow]


def _prepare(  # noqa: PLR0917 - the inputs and settings of a segment
    batch: DocumentBatch, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path
) -> Prepared:
    segments_built: list[Built] = []
    try:
        keys = batch.keys(first)
        rows = rows_of(batch, keys)
        if batch.texts:
            data = passages_of(batch, keys, salt)
            segments_built.append(write(PASSAGES, data, keys.chunks, None, first, last, folder))
            del data
        for leg in legs if batch.texts else ():
            segments_built.append(build(leg, rows, first, last, folder))  # noqa: PERF401 - a failure discards the others
    except BaseException:
        for segment in segments_built:
            segment.discard()
        raise
    return Prepared(segments_built, documents_of(batch, keys.documents.tolist(), salt))
