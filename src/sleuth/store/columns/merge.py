"""Merges the columns of several segments code by code, without reading metadata again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns import kernels
from sleuth.store.columns.build import ascending, distinct_lists, kind_of_integers
from sleuth.store.columns.column import (
    FIRST_INTEGER,
    MISSING,
    Array,
    Column,
    Floats,
    Integers,
    Lists,
    Strings,
    lay_rows,
    narrowest,
)
from sleuth.store.disk.scratch import IN_MEMORY, PIECE, Scratch, let_go, zeros

Part: TypeAlias = tuple[Column | None, NDArray[np.bool_]]
"""A segment's column, None where no row has the key, and the mask of the rows to keep, shape (rows,)."""
_WINDOW = 1 << 16
"""Rows that are read at a time."""


def merge_column(parts: Sequence[Part], scratch: Scratch = IN_MEMORY) -> Column | None:
    """Return the column of the rows kept of all parts, in order; None where none of them has the key."""
    inputs = [_Used.of(column, keep) for column, keep in parts if column]
    n_present = sum(one.n_present for one in inputs)
    if not n_present:
        return None
    tables = _Merged.of(inputs, n_present, scratch)
    n = sum(int(np.count_nonzero(keep)) for _, keep in parts)
    layout, starts = lay_rows(tables.rows(parts, scratch), scratch)
    return Column(n, layout, starts, tables.integers, tables.floats, tables.strings, tables.lists)


def _codes_of(column: Column, keep: NDArray[np.bool_]) -> Iterator[Array]:
    """Yield the codes of the rows to keep, some at a time."""
    for first in range(0, column.n, _WINDOW):
        yield column.row_codes(first, first + _WINDOW)[keep[first : first + _WINDOW]]
        let_go(column.codes)


@dataclass(frozen=True, slots=True)
class _Used:
    """What the rows that are kept use of a column.

    Attributes:
        n_present: how many of them have the key.
        is_used: which codes are in use, by a row or by an element of a list in use; shape (n_codes,).
    """

    column: Column
    n_present: int
    is_used: NDArray[np.bool_]

    @classmethod
    def of(cls, column: Column, keep: NDArray[np.bool_]) -> _Used:
        """Return what the rows in `keep`, shape (rows,), use of a column."""
        is_used = np.zeros(column.n_codes, np.bool_)
        n_present = 0
        for codes in _codes_of(column, keep):
            is_used[codes] = True
            n_present += int(np.count_nonzero(codes != MISSING))
        is_used[MISSING] = False
        _, elements = _elements(column.lists, np.flatnonzero(is_used[column.first_list :]))
        is_used[elements] = True
        return cls(column, n_present, is_used)

    def lists(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Codes in use; and for each element, which of these lists it belongs to, and its code."""
        places = np.flatnonzero(self.is_used[self.column.first_list :])
        return places + self.column.first_list, *_elements(self.column.lists, places)


@dataclass(frozen=True, slots=True)
class _Merged:
    """The dictionary of a merged column, and per part the new code of each code in use, shape (n_codes,), uint32."""

    integers: Integers
    floats: Floats
    strings: Strings
    lists: Lists
    n_codes: int
    mappings: list[NDArray[np.uint32]]

    @classmethod
    def of(cls, inputs: Sequence[_Used], n_present: int, scratch: Scratch) -> _Merged:
        """Merge the dictionaries of columns. In the new one integers come first, then floats, strings and lists."""
        mappings = [zeros(one.column.n_codes, np.uint32) for one in inputs]
        for mapping in mappings:
            mapping[:FIRST_INTEGER] = np.arange(FIRST_INTEGER)
        floats = _merge_floats(inputs, mappings, scratch)
        strings = _merge_strings(inputs, mappings, scratch)
        integers = _merge_integers(inputs, mappings, n_present, floats.count + strings.count, scratch)
        first_float = FIRST_INTEGER + integers.count
        first_string = first_float + floats.count
        for mapping, one in zip(mappings, inputs, strict=True):
            mapping[one.column.first_float : one.column.first_string] += first_float
            mapping[one.column.first_string : one.column.first_list] += first_string
        lists = _merge_lists(inputs, mappings, first_string + strings.count)
        n_codes = first_string + strings.count + lists.count
        return cls(integers, floats, strings, lists, n_codes, mappings)

    def rows(self, parts: Sequence[Part], scratch: Scratch) -> Array:
        """Return the new codes of the rows kept, shape (n,)."""
        dtype = narrowest(self.n_codes)
        rows = scratch.growing(dtype)
        mappings = iter(self.mappings)
        for column, keep in parts:
            if column is None:
                for first in range(0, len(keep), _WINDOW):
                    rows.append(np.zeros(np.count_nonzero(keep[first : first + _WINDOW]), dtype))
                continue
            mapping = next(mappings).astype(dtype, copy=False)
            for codes in _codes_of(column, keep):
                rows.append(mapping[codes])
        return rows.array()


def _merge_floats(
    inputs: Sequence[_Used], mappings: Sequence[NDArray[np.uint32]], scratch: Scratch
) -> Floats:
    """Return the floats in use; `mappings` get the place of each among them."""
    values, count = scratch.growing(np.float64), 0
    masks = [one.is_used[one.column.first_float : one.column.first_string] for one in inputs]
    for union, parts in _unions([one.column.floats for one in inputs], masks):
        for mapping, one, (places, floats) in zip(mappings, inputs, parts, strict=True):
            mapping[one.column.first_float + places] = count + np.searchsorted(union, floats)
        values.append(union)
        count += len(union)
    return Floats(values.array())


def _merge_strings(
    inputs: Sequence[_Used], mappings: Sequence[NDArray[np.uint32]], scratch: Scratch
) -> Strings:
    """Return the strings in use; `mappings` get the place of each among them."""
    data, heads, count = scratch.growing(np.uint8), scratch.growing(np.uint32), 0
    parts = []
    for mapping, one in zip(mappings, inputs, strict=True):
        places = slice(one.column.first_string, one.column.first_list)
        parts.append((one.column.strings.data, one.is_used[places].view(np.uint8), mapping[places]))
    for piece, its_heads, its_count in kernels.merge(parts, PIECE):
        data.append(piece)
        heads.append(its_heads)
        count += its_count
        for one in inputs:
            let_go(one.column.strings.data)
    return Strings(data.array(), heads.array(), count)


def _merge_integers(
    inputs: Sequence[_Used],
    mappings: Sequence[NDArray[np.uint32]],
    n_present: int,
    n_others: int,
    scratch: Scratch,
) -> Integers:
    """Return the integers in use; completes `mappings`.

    Args:
        n_present, n_others: as of `lay_integers`.
    """
    tables = [one.column.integers for one in inputs]
    masks = [one.is_used[FIRST_INTEGER : one.column.first_float] for one in inputs]
    count, low, high = 0, 0, 0
    for union, _ in _unions(tables, masks):
        if len(union):
            low, high = low if count else int(union[0]), int(union[-1])
            count += len(union)
    if not count:
        return Integers(None, 0, 0)
    kind = kind_of_integers(low, high, count, n_present, n_others)
    values, first = scratch.growing(kind or np.int64), FIRST_INTEGER
    for union, parts in _unions(tables, masks):
        for mapping, (places, integers) in zip(mappings, parts, strict=True):
            codes = first + np.searchsorted(union, integers) if kind else FIRST_INTEGER + (integers - low)
            mapping[FIRST_INTEGER + places] = codes
        if kind:
            values.append(union)
            first += len(union)
    return Integers(values.array(), low, count) if kind else Integers(None, low, high - low + 1)


_Numbers = TypeVar("_Numbers", Integers, Floats)


def _unions(
    tables: Sequence[_Numbers], masks: Sequence[NDArray[np.bool_]]
) -> Iterator[tuple[Array, list[tuple[NDArray[np.int64], Array]]]]:
    """Yield the distinct numbers in use, ascending, some at a time: of no table more than `_WINDOW`.

    Args:
        masks: of each table which of its numbers are in use, shape (count,).

    Yields:
        the numbers; and of each table the places of those in use, and what they are.
    """
    firsts = [table.take(np.arange(0, table.count, _WINDOW)) for table in tables]
    bounds = ascending(np.concatenate(firsts)).tolist()
    for bound, next_bound in zip_longest(bounds, bounds[1:]):
        parts = []
        for table, mask in zip(tables, masks, strict=True):
            end = table.count if next_bound is None else table.below(next_bound)
            begin = table.below(bound)
            places = begin + np.flatnonzero(mask[begin:end])
            parts.append((places, table.take(places)))
        yield ascending(np.concatenate([values for _, values in parts])), parts
        for table in tables:
            if table.values is not None:
                let_go(table.values)


def _merge_lists(inputs: Sequence[_Used], mappings: list[NDArray[np.uint32]], first: int) -> Lists:
    """Return the distinct lists, whose codes begin at `first`, in new codes of their elements; completes `mappings`."""
    owners, elements, counts = [], [], [0]
    for one, mapping in zip(inputs, mappings, strict=True):
        codes, owner, element = one.lists()
        owners.append(owner + counts[-1])
        elements.append(mapping[element])
        counts.append(counts[-1] + len(codes))
    list_codes, lists = distinct_lists(np.concatenate(owners), np.concatenate(elements), counts[-1], first)
    for at, (one, mapping) in enumerate(zip(inputs, mappings, strict=True)):
        mapping[one.lists()[0]] = list_codes[counts[at] : counts[at + 1]]
    return lists


def _elements(lists: Lists, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the elements of the lists at these places: for each, which of `places` it belongs to, and its code."""
    starts, ends = lists.offsets[places].astype(np.int64), lists.offsets[places + 1].astype(np.int64)
    lengths = ends - starts
    owners = np.repeat(np.arange(len(places)), lengths)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return owners, lists.elements[np.repeat(starts, lengths) + within].astype(np.int64)
