"""Evaluates filters on columns: a bitmap for each segment.

A comparison becomes intervals of codes, or where there are lists a table of codes, and one pass over the rows; And, Or
and Not work on bitmaps. Bitmaps are of all rows, deleted ones included: they depend on the segment's bytes alone, so
they can be kept for as long as the segment lives, and the searcher ands them with the live rows.

Legs merge at their own pace, so two legs may hold the same rows in different segments, which `align` maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sleuth.columns.column import (
    END,
    FALSE,
    FIRST_INTEGER,
    MISSING,
    Column,
    Interval,
    Ordered,
    below,
    keys_of,
    naming_damage,
    read_column,
    up_to,
    utf8,
)
from sleuth.filters import And, Compare, Filter, Not, Operator, Or
from sleuth.filters.tree import Scalar
from sleuth.store import SegmentView, unpack
from sleuth.store.legs.leg import Bitmap, pack
from sleuth.store.legs.recent import RecentValues

_MAX_SCANS: Final = 4
"""Intervals up to which a scan for each is faster than one look at a table for every row."""


FilterCache = RecentValues[tuple[str, Filter], Bitmap]
"""Bitmaps by segment name and filter, read-only."""
_CACHE_BYTES: Final = 64 << 20
"""Bytes of bitmaps that are kept; a million rows take 125 kB."""


class ColumnsSearcher:
    """Filters the rows of one version of an index.

    Args:
        segments: the leg's segments in that version.
        cache: outlives the searcher, for one index; a new one where None.
    """

    def __init__(self, segments: Sequence[SegmentView], cache: FilterCache | None = None) -> None:
        self.segments = tuple(segments)
        self.cache = FilterCache(_CACHE_BYTES, lambda bitmap: bitmap.nbytes) if cache is None else cache
        self._columns: dict[tuple[str, str], Column | None] = {}

    def bitmap(self, filter: Filter) -> list[Bitmap]:
        """Per segment, the ordinals of the rows that match, read-only; deleted rows that match are among them."""
        return [self._cached(view, filter) for view in self.segments]

    def keys(self) -> list[str]:
        """Return the metadata keys that some row has, sorted."""
        return sorted({key for view in self.segments for key in keys_of(view)})

    def _cached(self, view: SegmentView, filter: Filter) -> Bitmap:
        bitmap = self.cache.get((view.name, filter))
        if bitmap is None:
            bitmap = self._evaluate(view, filter)
            bitmap.setflags(write=False)
            self.cache.put((view.name, filter), bitmap)
        return bitmap

    def _evaluate(self, view: SegmentView, filter: Filter) -> Bitmap:
        if isinstance(filter, And | Or):
            join = np.bitwise_and if isinstance(filter, And) else np.bitwise_or
            return reduce(join, [self._cached(view, part) for part in filter.parts])
        if isinstance(filter, Not):
            return _complement(self._cached(view, filter.part), len(view))
        if (positive := _POSITIVES.get(filter.operator)) is not None:
            return _complement(self._cached(view, Compare(filter.key, positive, filter.value)), len(view))
        name = view.name, filter.key
        if name not in self._columns:
            self._columns[name] = read_column(view, filter.key)
        if (column := self._columns[name]) is None:
            is_all = filter.operator == "exists" and filter.value is False
            empty = np.zeros((len(view) + 63) // 64, np.uint64)
            return _complement(empty, len(view)) if is_all else empty
        with naming_damage(view.name, filter.key):
            return rows_where(column, filter)


_POSITIVES: Final[dict[Operator, Operator]] = {"ne": "eq", "nin": "in"}


def rows_where(column: Column, test: Compare) -> Bitmap:
    """Return the rows of a column for which a comparison, other than "ne" and "nin", is true."""
    if test.operator == "exists":
        return column.by_intervals([(MISSING + 1, column.n_codes) if test.value else (MISSING, MISSING + 1)])
    if test.operator in ("ieq", "substring"):
        masks = column.strings.equal_in_any_case if test.operator == "ieq" else column.strings.containing
        table = np.zeros(column.n_codes, np.bool_)
        table[column.first_string : column.first_list] = masks(str(test.value))
        table[column.first_list :] = column.lists.any_of(table)
        return column.by_table(table)
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    if test.operator not in ("eq", "in", "contains"):
        return column.by_intervals(scalar_codes(column, test.operator, values[0]))
    intervals = [interval for value in values for interval in scalar_codes(column, "eq", value)]
    intervals = [(low, high) for low, high in intervals if low < high]
    if not len(column.lists):
        if test.operator == "contains":
            return column.by_intervals([])
        if len(intervals) <= _MAX_SCANS:
            return column.by_intervals(intervals)
    table = np.zeros(column.n_codes, np.bool_)
    for low, high in intervals:
        table[low:high] = True
    table[column.first_list :] = column.lists.any_of(table)
    if test.operator == "contains":
        table[: column.first_list] = False
    return column.by_table(table)


def scalar_codes(column: Column, operator: Operator, value: Scalar) -> list[Interval]:
    """Return the codes of the scalars for which "eq", an order or "prefix" is true."""
    if isinstance(value, bool):
        return [(FALSE + value, FALSE + value + 1)]
    if isinstance(value, str):
        return [_interval(column.strings, column.first_string, operator, utf8(value))]
    return [
        _interval(column.integers, FIRST_INTEGER, operator, value),
        _interval(column.floats, column.first_float, operator, value),
    ]


def _interval(values: Ordered, first: int, operator: Operator, value: float | bytes) -> Interval:
    """Return the codes of the values, which begin at `first`, for which a comparison is true."""
    low, high = 0, len(values)
    if operator in ("eq", "gte", "prefix"):
        low = below(values, value)
    elif operator == "gt":
        low = up_to(values, value)
    if isinstance(value, bytes) and operator == "prefix":
        high = below(values, value + END)
    elif operator in ("eq", "lte"):
        high = up_to(values, value)
    elif operator == "lt":
        high = below(values, value)
    return first + low, first + high


def _complement(bitmap: Bitmap, n: int) -> Bitmap:
    """Return the rows that are not in the set; bits at n and above stay 0."""
    complement = ~bitmap
    if n % 64:
        complement[-1] &= np.uint64((1 << n % 64) - 1)
    return complement


def align(
    bitmaps: Sequence[Bitmap], source: Sequence[SegmentView], target: Sequence[SegmentView]
) -> list[Bitmap]:
    """Return the same set of rows, as bitmaps over `target`.

    Args:
        bitmaps: per segment of `source`.
        source, target: segments of two legs, each in order of key. A row of `target` that `source` lacks is in no set.
    """
    is_alike = len(source) == len(target) and all(
        len(a) == len(b)
        and (not len(a) or (a.keys[0] == b.keys[0] and a.keys[-1] == b.keys[-1]))
        and (_is_range(a.keys) or np.array_equal(a.keys, b.keys))
        for a, b in zip(source, target, strict=True)
    )
    if is_alike:
        return list(bitmaps)
    masks = [unpack(bitmap, len(view)) for bitmap, view in zip(bitmaps, source, strict=True)]
    return [pack(_gather(view.keys, source, masks)) for view in target]


def _is_range(keys: NDArray[np.int64]) -> bool:
    return not len(keys) or int(keys[-1] - keys[0]) == len(keys) - 1


def _gather(
    keys: NDArray[np.int64], source: Sequence[SegmentView], masks: Sequence[NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return the mask of these keys. Ranges of keys are copied whole."""
    is_matched = np.zeros(len(keys), np.bool_)
    for view, mask in zip(source, masks, strict=True):
        low, high = np.searchsorted(view.keys, [keys[0], keys[-1] + 1]) if len(keys) else (0, 0)
        inside, its_mask = view.keys[low:high], mask[low:high]
        if len(inside):
            begin, end = np.searchsorted(keys, [inside[0], inside[-1] + 1])
            asked = keys[begin:end]
            if len(asked) == len(inside) and (_is_range(inside) or np.array_equal(asked, inside)):
                is_matched[begin:end] = its_mask
            elif _is_range(inside):
                is_matched[begin:end] = its_mask[asked - inside[0]]
            else:
                is_matched[begin:end] = np.isin(asked, inside[its_mask], assume_unique=True)
    return is_matched
