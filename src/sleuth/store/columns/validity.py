"""Checks that a column of a segment is such as the leg makes, before its codes are looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns.column import Column, narrowest
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import check_offsets, integer_of, require


def validate_column(column: Column) -> None:
    """Refuse a column that `build_columns` cannot have made, in a few passes over its codes.

    Raises:
        ValueError: says what is wrong.
    """
    for name, values in (("integers", column.integers), ("floats", column.floats)):
        rise = all(np.all(piece[1:] > piece[:-1]) for piece in windows(values, 1))
        require(rise and not np.isnan(values[:1]).any(), f"{name} must rise")
    check_offsets("ends", column.strings.offsets, len(column.strings.block), strictly=True)
    check_offsets("offsets", column.lists.offsets, len(column.lists.elements), strictly=True)
    _check_below("elements", column.lists.elements, column.first_list)
    _check_below("codes", column.codes, column.n_codes)
    rows = len(column.codes)
    if column.runs is not None:
        require(len(column.runs) == rows, "runs must be one for each code")
        rows = int(column.runs.sum(dtype=np.uint64))
    require(
        column.codes.dtype == narrowest(column.n_codes) and rows == column.n, "codes must be one for each row"
    )


def _check_below(name: str, codes: NDArray[Any], limit: int) -> None:
    are_below = all(int(piece.max(initial=0)) < limit for piece in windows(codes))
    require(are_below, f"{name} must be below {limit}")


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
