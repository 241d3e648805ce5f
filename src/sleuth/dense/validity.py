"""Checks that the arrays of a dense segment are such as the leg makes, before kernels trust them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.dense.encoding import BLOCK
from sleuth.dense.lists import NO_ROW, PREFIX
from sleuth.dense.matching import are_sets
from sleuth.dense.wordllama import TOKENS
from sleuth.store import array_of, check_offsets, require
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import arrays_of, integer_of, number_of

MOST_DIMENSIONS = 1 << 17
MOST = 4.0
"""Vectors have length 1 and their mean less, so factors and errors of codes are below 2; rounding leaves room."""


def validate_arrays(
    arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], n: int, *, full: bool
) -> None:
    """Refuse arrays that `DenseLeg.pack` cannot have made.

    Args:
        n: how many rows the segment has.

    Raises:
        ValueError: says what is wrong.
    """
    dimension = integer_of(facts, "dimension", 1 if n else 0, MOST_DIMENSIONS)
    number_of(facts, "spread", 0, MOST)
    blocks = -(-n // BLOCK)
    _, _, centre, factors = arrays_of(
        arrays,
        {
            "vectors": (np.uint8, (n, codes.bytes_of_row(dimension))),
            "codes": (np.uint8, (blocks, -(-dimension // 8), BLOCK)),
            "centre": (np.float32, (dimension,)),
            "factors": (np.float32, (blocks * BLOCK,)),
        },
    )
    _check_within("centre", centre, -MOST)
    _check_within("factors", factors, 0)
    if {"tokens", "sizes"} & arrays.keys():
        tokens, sizes = arrays_of(arrays, {"tokens": (np.uint8, (None,)), "sizes": (np.uint16, (n,))})
        total = sum(int(piece.sum(dtype=np.int64)) for piece in windows(sizes))
        require(total == len(tokens), "'sizes' must add up to the tokens")
        if full:
            require(are_sets(tokens, sizes, TOKENS), f"tokens must be below {TOKENS}")
    if any(name.startswith(PREFIX) for name in arrays):
        number_of(facts, "list_spread", 0, MOST)
        _check_lists(arrays, n, dimension, full=full)


def _check_within(name: str, values: NDArray[np.floating[Any]], lower: float) -> None:
    # A NaN is neither.
    are_within = all(
        not len(piece) or (piece.min() >= lower and piece.max() <= MOST) for piece in windows(values)
    )
    require(are_within, f"{name!r} must be from {lower:g} to {MOST:g}")


def _check_lists(arrays: Mapping[str, NDArray[Any]], n: int, dimension: int, *, full: bool) -> None:
    """Check shapes and ranges of the arrays that list rows by clusters; with `full`, also that each row is listed."""
    code_bytes = -(-dimension // 8)
    count = len(array_of(arrays, f"{PREFIX}centres", np.uint8, (None, codes.bytes_of_row(dimension))))
    blocks = len(array_of(arrays, f"{PREFIX}codes", np.uint8, (None, code_bytes, BLOCK)))
    require(count > 0 and blocks > 0, "there must be lists")
    places, centre_blocks = blocks * BLOCK, -(-count // BLOCK)
    rows = array_of(arrays, f"{PREFIX}rows", np.uint32, (places,))
    begins = array_of(arrays, f"{PREFIX}begins", np.uint32, (count + 1,))
    array_of(arrays, f"{PREFIX}centre_codes", np.uint8, (centre_blocks, code_bytes, BLOCK))
    for name, length, lower in (
        (f"{PREFIX}factors", places, 0.0),
        (f"{PREFIX}scales", count, -MOST),
        (f"{PREFIX}centre_factors", centre_blocks * BLOCK, 0.0),
    ):
        _check_within(name, array_of(arrays, name, np.float32, (length,)), lower)
    check_offsets(f"{PREFIX}begins", begins, blocks)
    if full:
        row_numbers = rows[rows != NO_ROW]
        require(not len(row_numbers) or row_numbers.max() < n, f"'{PREFIX}rows' must be below {n}")
        require((np.bincount(row_numbers, minlength=n) > 0).all(), f"'{PREFIX}rows' must hold every row")
