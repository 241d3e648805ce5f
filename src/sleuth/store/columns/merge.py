"""Merges the columns of several segments code by code, without reading metadata again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns import kernels
from sleuth.store.columns.build import ascending, distinct_lists, integer_places, lay_integers
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

Part: TypeAlias = tuple[Column | None, NDArray[np.bool_]]
"""A segment's column, None where no row has the key, and the mask of the rows to keep, shape (rows,)."""
_WINDOW = 1 << 16
"""Rows that are read at a time."""


def merge_column(parts: Sequence[Part]) -> Column | None:
    """Return the column of the rows kept of all parts, in order; None where none of them has the key."""
    inputs = [_Used.of(column, keep) for column, keep in parts if column]
    n_present = sum(one.n_present for one in inputs)
    if not n_present:
        return None
    tables = _Merged.of(inputs, n_present)
    n = sum(int(np.count_nonzero(keep)) for _, keep in parts)
    layout, starts = lay_rows(tables.rows(parts, n))
    return Column(n, layout, starts, tables.integers, tables.floats, tables.strings, tables.lists)


def _codes_of(column: Column, keep: NDArray[np.bool_]) -> Iterator[Array]:
    """Yield the codes of the rows to keep, some at a time."""
    for first in range(0, column.n, _WINDOW):
        yield column.row_codes(first, first + _WINDOW)[keep[first : first + _WINDOW]]


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
        is_used = np.zeros(column.n_codes, np.bool_)
        n_present = 0
        for codes in _codes_of(column, keep):
            is_used[codes] = True
            n_present += int(np.count_nonzero(codes != MISSING))
        is_used[MISSING] = False
        _, elements = _elements(column.lists, np.flatnonzero(is_used[column.first_list :]))
        is_used[elements] = True
        return cls(column, n_present, is_used)

    def integers(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes in use and the integers they stand for."""
        places = np.flatnonzero(self.is_used[FIRST_INTEGER : self.column.first_float])
        return places + FIRST_INTEGER, self.column.integers.take(places)

    def floats(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Codes in use and the floats they stand for."""
        places = np.flatnonzero(self.is_used[self.column.first_float : self.column.first_string])
        return places + self.column.first_float, self.column.floats.values[places]

    def strings(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return the strings, front-coded, and the mask of those in use."""
        of_strings = self.is_used[self.column.first_string : self.column.first_list]
        return self.column.strings.data, of_strings.view(np.uint8)

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
    def of(cls, inputs: Sequence[_Used], n_present: int) -> _Merged:
        mappings = [np.zeros(one.column.n_codes, np.uint32) for one in inputs]
        for mapping in mappings:
            mapping[:FIRST_INTEGER] = np.arange(FIRST_INTEGER)
        integers_of, floats_of = [one.integers() for one in inputs], [one.floats() for one in inputs]
        floats = ascending(np.concatenate([values for _, values in floats_of]))
        data, heads, count, places_of = kernels.merge([one.strings() for one in inputs])
        strings = Strings(data, heads, count)
        distinct = ascending(np.concatenate([values for _, values in integers_of]))
        integers = lay_integers(distinct, n_present, len(floats) + strings.count)
        first_float = FIRST_INTEGER + integers.count
        first_string = first_float + len(floats)
        for at, mapping in enumerate(mappings):
            codes, whole = integers_of[at]
            mapping[codes] = FIRST_INTEGER + integer_places(integers, whole)
            codes, broken = floats_of[at]
            mapping[codes] = first_float + np.searchsorted(floats, broken)
            column = inputs[at].column
            words = slice(column.first_string, column.first_list)
            mapping[words][inputs[at].is_used[words]] = first_string + places_of[at]
        lists = _merge_lists(inputs, mappings, first_string + strings.count)
        n_codes = first_string + strings.count + lists.count
        return cls(integers, Floats(floats), strings, lists, n_codes, mappings)

    def rows(self, parts: Sequence[Part], n: int) -> Array:
        """Return the new codes of the `n` rows kept, shape (n,)."""
        dtype = narrowest(self.n_codes)
        rows, end = np.zeros(n, dtype), 0
        mappings = iter(self.mappings)
        for column, keep in parts:
            begin, end = end, end + int(np.count_nonzero(keep))
            if column is None:
                continue
            mapping = next(mappings).astype(dtype)
            for codes in _codes_of(column, keep):
                rows[begin : begin + len(codes)] = mapping[codes]
                begin += len(codes)
        return rows


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
