"""Merges the columns of several segments code by code, without reading metadata again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.columns.build import ascending, distinct_lists
from sleuth.columns.column import FIRST_INTEGER, MISSING, Array, Column, Strings

Part: TypeAlias = tuple[Column | None, NDArray[np.bool_]]
"""A segment's column, None where no row has the key, and the mask of the rows to keep, shape (rows,)."""


def merge_column(parts: Sequence[Part]) -> Column | None:
    """Return the column of the rows kept of all parts, in order; None where none of them has the key."""
    inputs = [_Input.of(column, keep) for column, keep in parts if column]
    if not any(one.is_used.any() for one in inputs):
        return None
    integers = ascending(np.concatenate([one.numbers(one.column.integers, FIRST_INTEGER) for one in inputs]))
    floats = ascending(
        np.concatenate([one.numbers(one.column.floats, one.column.first_float) for one in inputs])
    )
    number_of: dict[bytes, int] = {}
    for one in inputs:
        one.number_texts(number_of)
    texts = sorted(number_of)
    places = np.empty(len(texts), np.uint32)
    places[np.fromiter(map(number_of.__getitem__, texts), np.int64, len(texts))] = np.arange(len(texts))
    first_float = FIRST_INTEGER + len(integers)
    first_string = first_float + len(floats)
    first_list = first_string + len(texts)
    owners, elements, n_lists = [], [], 0
    for one in inputs:
        column, mapping = one.column, one.mapping
        mapping[:FIRST_INTEGER] = np.arange(FIRST_INTEGER)
        new_integers, new_floats = integers.searchsorted(column.integers), floats.searchsorted(column.floats)
        mapping[FIRST_INTEGER : column.first_float] = FIRST_INTEGER + new_integers
        mapping[column.first_float : column.first_string] = first_float + new_floats
        one.place_texts(places, first_string)
        owner, element = column.lists.elements_of(one.lists())
        owners.append(n_lists + owner)
        elements.append(mapping[element])
        n_lists += len(one.lists())
    list_codes, lists = distinct_lists(np.concatenate(owners), np.concatenate(elements), n_lists, first_list)
    for one in inputs:
        in_use = one.lists()
        one.mapping[one.column.first_list + in_use], list_codes = np.split(list_codes, [len(in_use)])
    dtype, used = np.min_scalar_type(first_list + len(lists) - 1), iter(inputs)
    codes = np.concatenate(
        [
            np.zeros(np.count_nonzero(keep), dtype)
            if part is None
            else next(used).mapping.astype(dtype)[part.row_codes()[keep]]
            for part, keep in parts
        ]
    )
    return Column.of(codes, integers, floats, Strings.of(texts), lists)


@dataclass(frozen=True, slots=True)
class _Input:
    """A column, what rows that are kept use of it, and its codes in the merged column.

    Attributes:
        is_used: which codes are in use, by a row or by an element of a list in use; shape (n_codes,).
        mapping: the new code of each code in use, shape (n_codes,), uint32.
    """

    column: Column
    is_used: NDArray[np.bool_]
    mapping: NDArray[np.uint32]

    @classmethod
    def of(cls, column: Column, keep: NDArray[np.bool_]) -> _Input:
        """Return what the rows in `keep`, shape (rows,), use of a column."""
        is_used = np.zeros(column.n_codes, np.bool_)
        is_used[column.row_codes()[keep]] = True
        is_used[MISSING] = False
        _, elements = column.lists.elements_of(np.flatnonzero(is_used[column.first_list :]))
        is_used[elements] = True
        return cls(column, is_used, np.zeros(column.n_codes, np.uint32))

    def numbers(self, numbers: Array, first: int) -> Array:
        """Return those in use of the numbers whose codes begin at `first`."""
        return numbers[self.is_used[first : first + len(numbers)]]

    def number_texts(self, number_of: dict[bytes, int]) -> None:
        """Map the strings in use to their numbers; those that have none yet get the next ones."""
        strings = slice(self.column.first_string, self.column.first_list)
        texts = compress(self.column.strings.all(), self.is_used[strings].tolist())
        numbers = (number_of.setdefault(text, len(number_of)) for text in texts)
        self.mapping[strings][self.is_used[strings]] = np.fromiter(numbers, np.uint32)

    def place_texts(self, places: NDArray[np.uint32], first: int) -> None:
        """Map the strings in use to their places by number among the merged ones, whose codes begin at `first`."""
        strings = slice(self.column.first_string, self.column.first_list)
        codes, is_used = self.mapping[strings], self.is_used[strings]
        codes[is_used] = first + places[codes[is_used]]

    def lists(self) -> NDArray[np.int64]:
        """Return the places of the lists in use."""
        return np.flatnonzero(self.is_used[self.column.first_list :])
