"""The kind of segment that holds passages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.store.disk.scratch import IN_MEMORY, Scratch
from sleuth.store.legs.arrays import array_of, check_offsets
from sleuth.store.legs.leg import SegmentData, SegmentView, unpack
from sleuth.store.passages.blocks import Passages
from sleuth.store.passages.records import encode

if TYPE_CHECKING:
    from sleuth.store.record.batch import BatchColumn, DocumentBatch, Keys
    from sleuth.store.record.metadata import Json

OFFSETS, RECORDS = "offsets", "records"


class PassagesKind:
    """Merges and validates segments of passages. What they hold is derived from nothing, so it is never built again."""

    name = "passages"
    fingerprint = "passages 1"

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return the records of the live rows, as they are: their checksums are copied too."""
        records, offsets, end = [np.zeros(0, np.uint8)], scratch.growing(np.uint64), 0
        offsets.append(np.zeros(1, np.uint64))
        for view in segments:
            ends, block = view.arrays[OFFSETS], view.arrays[RECORDS]
            for first, last in _live_runs(view):
                start = int(ends[first])
                records.append(block[start : int(ends[last])])
                offsets.append(ends[first + 1 : last + 1] + np.uint64(end) - np.uint64(start))
                end += int(ends[last]) - start
        return SegmentData({OFFSETS: offsets.array()}, unsealed={RECORDS: records})

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that are no passages; raises ValueError. The kernel checks each record that it reads."""
        offsets = array_of(data.arrays, OFFSETS, np.uint64, (n + 1,))
        records = array_of(data.arrays, RECORDS, np.uint8, (None,))
        if full:
            check_offsets(OFFSETS, offsets, len(records))


PASSAGES = PassagesKind()


def _live_runs(view: SegmentView) -> Iterator[tuple[int, int]]:
    """Yield runs of live rows, as half-open ranges."""
    if view.live is None:
        yield 0, len(view)
        return
    edges = np.flatnonzero(np.diff(unpack(view.live, len(view)), prepend=False, append=False))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def passages_of(batch: DocumentBatch, keys: Keys, salt: int) -> SegmentData:
    """Return the passages of a batch.

    Args:
        salt: of the index.
    """
    offsets, records = encode(
        keys.documents, batch.chunk_counts(), batch.ids, list(batch.sources), list(batch.titles),
        _json(batch.metadata), batch.texts, list(batch.pages), list(batch.starts), list(batch.lines),
        list(batch.breaks), _json(batch.fields), _json(batch.own), salt,
    )  # fmt: skip
    return SegmentData({OFFSETS: offsets}, unsealed={RECORDS: [records]})


def _json(column: BatchColumn[Json | None]) -> list[str | None]:
    return [value and value.text for value in column]


def passages_in(views: Sequence[SegmentView], files: Collection[str], salt: int) -> Passages:
    """Return the passages of some segments.

    Args:
        files: names of those that are files.
        salt: of the index.
    """
    return Passages(
        [(view.key_list, view.arrays[OFFSETS], view.arrays[RECORDS], view.name in files) for view in views],
        salt,
    )


def spans_of(offsets: NDArray[np.uint64], rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return where the records of some rows are, as half-open ranges of bytes that do not touch.

    Args:
        offsets: shape (n + 1,).
        rows: ascending, shape (m,).
    """
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    firsts, lasts = rows[np.r_[0, breaks]], rows[np.r_[breaks - 1, len(rows) - 1]]
    return list(zip(offsets[firsts].tolist(), offsets[lasts + 1].tolist(), strict=True))
