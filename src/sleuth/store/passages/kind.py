"""The kind of segment that holds passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sleuth.store.disk.scratch import IN_MEMORY, Scratch
from sleuth.store.legs.arrays import array_of, check_offsets
from sleuth.store.legs.leg import SegmentData, SegmentView, unpack

OFFSETS, RECORDS = "offsets", "records"


class PassagesKind:
    """Merges and validates segments of passages. What they hold is derived from nothing, so it is never built again."""

    name = "passages"
    fingerprint = "passages 2"
    earlier = "passages 1"  # texts as they are, as they may be now

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return the records of the live rows, as they are: their checksums are copied too."""
        records, offsets, end = [np.zeros(0, np.uint8)], scratch.growing(np.uint64), 0
        offsets.append(np.zeros(1, np.uint64))
        for view in segments:
            ends, block = view.arrays[OFFSETS], view.arrays[RECORDS]
            runs: Iterable[tuple[int, int]] = [(0, len(view))]  # of live rows
            if view.live is not None:
                edges = np.flatnonzero(np.diff(unpack(view.live, len(view)), prepend=False, append=False))
                runs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
            for first_row, end_row in runs:
                start = int(ends[first_row])
                records.append(block[start : int(ends[end_row])])
                offsets.append(ends[first_row + 1 : end_row + 1] + np.uint64(end) - np.uint64(start))
                end += int(ends[end_row]) - start
        return SegmentData({OFFSETS: offsets.array()}, unsealed={RECORDS: records})

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that are no passages; raises ValueError. The kernel checks each record that it reads."""
        offsets = array_of(data.arrays, OFFSETS, np.uint64, (n + 1,))
        records = array_of(data.arrays, RECORDS, np.uint8, (None,))
        if full:
            check_offsets(OFFSETS, offsets, len(records))


PASSAGES = PassagesKind()
