"""Codes of the rows of a segment, which are read some at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes
from sleuth.store import IN_MEMORY, Scratch
from sleuth.store.disk.scratch import let_go

BLOCK = 64
"""Rows of a block of codes (codes.h)."""
PIECE = 1 << 12
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


def encode(rows: NDArray[np.uint8], dimension: int, scratch: Scratch = IN_MEMORY) -> EncodedVectors:
    """Return codes of rows, as of `codes.pack`, around the mean of their vectors."""
    n = len(rows)
    total = np.zeros(dimension, np.float64)
    for vectors in unpacked(rows, dimension, PIECE):
        total += vectors.sum(axis=0, dtype=np.float64)
    centre = (total / max(n, 1)).astype(np.float32)
    bits, factors, left_out = scratch.growing(np.uint8), scratch.growing(np.float32), 0.0
    for vectors in unpacked(rows, dimension, PIECE):
        its_bits, its_factors, left_out = codes.encode(vectors, centre, left_out)
        bits.append(its_bits)
        factors.append(its_factors)
    shape = -(-n // BLOCK), -(-dimension // 8), BLOCK
    return EncodedVectors(
        centre, bits.array().reshape(shape), factors.array(), spread_of(left_out, n * dimension)
    )


def spread_of(left_out: float, values: int) -> float:
    """Return the root mean square of the parts that codes leave out, whose squares have this sum."""
    return math.sqrt(max(left_out, 0.0) / values) if values else 0.0


def unpacked(rows: NDArray[np.uint8], dimension: int, size: int) -> Iterator[NDArray[np.float32]]:
    """Yield the vectors of rows, so many at a time; the memory of the file behind them is let go in between."""
    for first in range(0, len(rows), size):
        yield codes.unpack(rows[first : first + size], dimension)
        let_go(rows)


def begins_of(sizes: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """Return where every 64th of sets of these sizes begins, when they lie one after the other."""
    bytes_of_64 = np.add.reduceat(sizes, np.arange(0, len(sizes), 64), dtype=np.uint64)
    return np.cumsum(bytes_of_64) - bytes_of_64
