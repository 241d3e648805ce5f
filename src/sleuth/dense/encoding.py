"""Codes of the vectors of a segment, which are read some rows at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.store import IN_MEMORY, Scratch
from sleuth.store.disk.scratch import let_go

_Half = TypeVar("_Half", np.uint16, np.float16)

BLOCK = 64
"""Rows of a block of codes (codes.h)."""
PIECE = 1 << 14
"""Rows that are read at a time; whole blocks."""


class EncodedVectors(NamedTuple):
    """Vectors as codes.

    Attributes:
        centre: the mean of the vectors, shape (dimension,), float32.
        codes, factors: of the rows around the centre, as of `codes.encode`.
        spread: root mean square, per dimension, of the parts of rows that codes leave out: the error of an estimate
            for a query of length 1.
    """

    centre: NDArray[np.float32]
    codes: NDArray[np.uint8]
    factors: NDArray[np.float32]
    spread: float


def encode(halves: NDArray[np.uint16], scratch: Scratch = IN_MEMORY) -> EncodedVectors:
    """Return codes around the mean of vectors, shape (n, dimension), the bits of float16."""
    n, dimension = halves.shape
    total = np.zeros(dimension, np.float64)
    for piece in _pieces(halves):
        codes.add_up(piece, total)
    centre = (total / max(n, 1)).astype(np.float32)
    bits, factors, left_out = scratch.growing(np.uint8), scratch.growing(np.float32), 0.0
    for piece in _pieces(halves):
        its_bits, its_factors, left_out = codes.encode(piece, centre, left_out)
        bits.append(its_bits)
        factors.append(its_factors)
    shape = -(-n // BLOCK), -(-dimension // 8), BLOCK
    return EncodedVectors(
        centre, bits.array().reshape(shape), factors.array(), spread_of(left_out, n * dimension)
    )


def spread_of(left_out: float, values: int) -> float:
    """Return the root mean square of the parts that codes leave out, whose squares have this sum."""
    return math.sqrt(max(left_out, 0.0) / values) if values else 0.0


def are_finite(vectors: NDArray[np.float16]) -> bool:
    """Return whether vectors, shape (n, dimension), hold finite numbers only."""
    return all(np.isfinite(piece).all() for piece in _pieces(vectors))


def _pieces(halves: NDArray[_Half]) -> Iterator[NDArray[_Half]]:
    for first in range(0, len(halves), PIECE):
        yield halves[first : first + PIECE]
        let_go(halves)
