"""Checks of a segment's arrays and facts, whose file can come from anybody.

Checksums show that bytes did not change, not that a leg wrote them. Each check raises ValueError
with the reason; the caller that opens the segment turns it into an `IndexDamagedError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sleuth.store.disk.scratch import windows


def require(holds: bool | np.bool_, why: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not holds:
        raise ValueError(why)


def array_of(
    arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Return the array of this name, type and shape.

    Args:
        shape: None stands for any length.
    """
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"array {name!r} is missing")
    expected = tuple(
        [size if length is None else length for size, length in zip(array.shape, shape, strict=False)]
    )
    fits = array.ndim == len(shape) and array.shape == expected
    if array.dtype != dtype or not (fits and array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(
            f"array {name!r} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} of shape {array.shape}"
        )
    return array


def arrays_of(
    arrays: Mapping[str, NDArray[Any]], forms: Mapping[str, tuple[DTypeLike, tuple[int | None, ...]]]
) -> list[NDArray[Any]]:
    """Return arrays by name, type and shape, in order; see `array_of`."""
    return [array_of(arrays, name, dtype, shape) for name, (dtype, shape) in forms.items()]


def check_offsets(name: str, offsets: NDArray[Any], end: int, *, strictly: bool = False) -> None:
    """`offsets`, shape (n + 1,), cut an array of length `end` into n pieces: they rise from 0 to it.

    Args:
        strictly: no piece is empty.
    """
    rise = np.greater if strictly else np.greater_equal
    require(
        len(offsets) > 0
        and int(offsets[0]) == 0
        and int(offsets[-1]) == end
        and all(np.all(rise(piece[1:], piece[:-1])) for piece in windows(offsets, 1)),
        f"{name!r} must rise from 0 to {end}",
    )


def check_rising(name: str, values: NDArray[Any], below: int) -> None:
    """`values` rise strictly and are less than `below`."""
    require(
        not len(values)
        or (
            all(np.all(piece[1:] > piece[:-1]) for piece in windows(values, 1))
            and values[0] >= 0
            and int(values[-1]) < below
        ),
        f"{name!r} must rise and stay below {below}",
    )


def number_of(facts: object, name: str, low: float, high: float) -> float | int:
    """Return the number of this name among the facts of a segment."""
    value = facts.get(name) if isinstance(facts, Mapping) else None
    require(
        isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high,
        f"fact {name!r} must be a number from {low} to {high}, got {value!r}",
    )
    return value  # type: ignore[return-value]


def integer_of(facts: object, name: str, low: int, high: int) -> int:
    """Return the integer of this name among the facts of a segment."""
    value = number_of(facts, name, low, high)
    require(isinstance(value, int), f"fact {name!r} must be an integer, got {value!r}")
    return int(value)
