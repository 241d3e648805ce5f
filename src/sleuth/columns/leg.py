"""The leg that answers filters: metadata turned into columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from sleuth.columns.column import (
    ARRAY,
    Column,
    column_of,
    keys_of,
    naming_damage,
    read_column,
    text_of,
    to_segment,
)
from sleuth.columns.search import ColumnsSearcher
from sleuth.store import (
    IN_MEMORY,
    LegContext,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    array_of,
    require,
    unpack,
)
from sleuth.store.legs.arrays import integer_of
from sleuth.store.legs.searching import IndexLeg

_FORMAT: Final = 2


class ColumnsLeg(IndexLeg):
    """Keeps the metadata of rows so that a filter over a million of them costs a millisecond."""

    name = "columns"
    fingerprint = f"columns {_FORMAT}"

    @classmethod
    def open(cls, context: LegContext) -> ColumnsLeg:
        """Return the leg; every index has it."""
        return cls()

    def searcher(
        self, segments: Sequence[SegmentView], previous: ColumnsSearcher | None = None
    ) -> ColumnsSearcher:
        """Open a searcher, with the bitmaps that the one before kept."""
        return ColumnsSearcher(segments, None if previous is None else previous.cache)

    def build(self, rows: Rows) -> SegmentData:
        """Return a column per key; a key that no row has costs nothing."""
        from sleuth.columns.build import build_columns

        return to_segment(len(rows.keys), sorted(build_columns(rows.metadata).items()))

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return the columns of the live rows; values that only dead rows had are dropped."""
        from sleuth.columns.build import merge_column

        keep = [
            np.broadcast_to(np.True_, len(view)) if view.live is None else unpack(view.live, len(view))
            for view in segments
        ]

        def columns() -> Iterator[tuple[str, Column]]:
            for key in sorted({key for view in segments for key in keys_of(view)}):
                parts = [(read_column(view, key), mask) for view, mask in zip(segments, keep, strict=True)]
                with naming_damage(" or ".join(view.name for view in segments), key):
                    column = merge_column(parts, scratch)
                if column is not None:
                    yield key, column

        return to_segment(sum(int(np.count_nonzero(mask)) for mask in keep), columns(), scratch)

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that this leg cannot have made; raises ValueError. Columns are checked when they are read."""
        array_of(data.arrays, ARRAY, np.uint8, (None,))
        require(integer_of(data.meta, "n", 0, n) == n, "columns must be of all rows")
        keys = data.meta.get("keys")
        require(isinstance(keys, dict), f"fact 'keys' must be columns by name, got {keys!r}")
        for key in keys if full and keys else ():
            try:
                column = column_of(data, key)
                for string in column.strings.all() if column else ():
                    text_of(string)
            except ValueError as error:
                raise ValueError(f"metadata {key!r}: {error}") from error
