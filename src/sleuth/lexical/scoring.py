"""The formulas of term weights, as they are named to users, and the statistics of a field that they need.

BM25 (Lucene idf): Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's idf, which is
never negative, and without the constant factor k1 + 1, as in Lucene 8 and later.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.store.disk.scratch import windows

K1 = 1.2
"""How soon further occurrences stop counting; 0 for at once."""
B = 0.75
"""How far long rows are held back; 0 for not at all."""


class FieldLengths(NamedTuple):
    """Lengths of one field over the live rows of some segments; those of two parts add.

    Attributes:
        total: sum of the lengths, in tokens.
        filled: rows that have the field.
    """

    total: int
    filled: int

    @property
    def average(self) -> float:
        """Mean length of the rows that have the field, in tokens."""
        return self.total / self.filled if self.filled else 0.0

    @classmethod
    def of_rows(cls, lengths: NDArray[np.uint32]) -> FieldLengths:
        """Add up the lengths of rows, shape (n,); the memory of the file behind them is let go."""
        total = filled = 0
        for piece in windows(lengths):
            total, filled = total + int(piece.sum(dtype=np.int64)), filled + int(np.count_nonzero(piece))
        return cls(total, filled)


def bm25_idf(df: int, n: int) -> float:
    """ln(1 + (n - df + 0.5) / (df + 0.5)), for a term in df of n rows; above 0."""
    return math.log1p((n - df + 0.5) / (df + 0.5))


def bm25_norm(average: float, k1: float, b: float) -> tuple[float, float]:
    """(c0, c1) such that a row of length L scores tf / (tf + c0 + c1 L): c0 = k1 (1 - b), c1 = k1 b / average."""
    return k1 * (1 - b), k1 * b / average if average else 0.0


TERM_FORMULA: Final = "weight * idf * tf / (tf + length_norm)"
"""What one term adds to a score."""


def formula(k1: float, b: float) -> str:
    """Return the whole formula, in words that a reader can check."""
    return (
        f"BM25 (Lucene idf), k1={k1:g}, b={b:g}: sum of weight * ln(1 + (n - df + 0.5) / (df + 0.5)) * "
        "tf / (tf + k1 * (1 - b + b * length / average))"
    )
