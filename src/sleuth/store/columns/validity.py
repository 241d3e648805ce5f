"""Checks that a column of a segment is such as the leg makes, before kernels trust it."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns.column import Column, Integers, Lists, Strings, narrowest
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import check_offsets, check_rising, integer_of, require

DENSITY: Final = 4
"""Integers without a dictionary leave at most so many places for each that is there."""
STRING_BLOCK: Final = 64


def validate_column(column: Column) -> None:
    """Refuse a column that `build_columns` cannot have made, in a few passes over its codes.

    Front-coded strings are checked where they are read (`kernels.pyx`).

    Raises:
        ValueError: says what is wrong.
    """
    _check_integers(column.integers, column.n + len(column.lists.elements))
    floats = column.floats.values
    rise = all(not np.isnan(some).any() and np.all(some[1:] > some[:-1]) for some in windows(floats, 1))
    require(rise, "floats must rise")
    _check_strings(column.strings)
    _check_codes(column)
    _check_lists(column.lists, column.first_list)


def _check_integers(integers: Integers, most: int) -> None:
    low, values = integers.low, integers.values
    require(low >= -(1 << 63) and low + integers.count <= 1 << 63, "integers must fit 64 bits")
    if values is None:
        require(0 <= integers.count <= DENSITY * most, f"{integers.count} integers are not of {most} values")
    else:
        require(
            len(values) == integers.count > 0 and int(values[0]) == low, "integers must begin with the least"
        )
        rise = all(np.all(some[1:] > some[:-1]) for some in windows(values, 1))
        require(rise, "integers must rise")


def _check_strings(strings: Strings) -> None:
    heads = strings.heads
    require(len(heads) == -(-strings.count // STRING_BLOCK), "strings must have a head for each block")
    check_rising("heads", heads, len(strings.data))


def _check_codes(column: Column) -> None:
    codes, starts = column.codes, column.starts
    rows = column.n if starts is None else len(starts)
    require(codes.dtype == narrowest(column.n_codes) and len(codes) == rows, "codes must be one for each row")
    are_below = all(int(some.max(initial=0)) < column.n_codes for some in windows(codes))
    require(are_below, f"codes must be below {column.n_codes}")
    if starts is not None:
        check_rising("starts", starts, column.n)
        require(not column.n or (len(starts) > 0 and starts[0] == 0), "runs must begin with the first row")


def _check_lists(lists: Lists, first: int) -> None:
    check_offsets("offsets", lists.offsets, len(lists.elements))
    are_below = all(int(some.max(initial=0)) < first for some in windows(lists.elements))
    require(are_below, "elements of lists must be no lists")


def piece_of(data: NDArray[np.uint8], facts: Any, kinds: str) -> NDArray[Any]:
    """Return the array that facts place in the data: offset in bytes, number of values, dtype.

    Args:
        kinds: the dtypes that it can have.
    """
    require(isinstance(facts, list) and len(facts) == 3, f"facts of an array must be three, got {facts!r}")
    offset, count, name = facts
    require(name in kinds.split(), f"an array must be {kinds}, got {name!r}")
    dtype = np.dtype(name)
    places = {"offset": offset, "count": count}
    end = (
        integer_of(places, "offset", 0, len(data))
        + integer_of(places, "count", 0, len(data)) * dtype.itemsize
    )
    require(end <= len(data), "an array must lie within the data")
    piece: NDArray[Any] = data[offset:end].view(dtype)
    return piece if piece.flags.aligned else piece.copy()
