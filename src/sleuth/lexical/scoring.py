"""The formulas of term weights, as they are named to users, and the statistics of a field that they need.

BM25 (Lucene idf): Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's idf, which is
never negative, and without the constant factor k1 + 1, as in Lucene 8 and later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.store import SegmentView
from sleuth.store.disk.scratch import let_go

K1 = 1.2
"""How soon further occurrences stop counting; 0 for at once."""
B = 0.75
"""How far long rows are held back; 0 for not at all."""
LENGTHS: Final = "lengths"
LANGUAGES: Final = "languages"
"""Arrays of the rows of a field."""
_PIECE: Final = 1 << 18
"""Rows that are added up at a time."""


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


def lengths_by_field(
    names: Sequence[str], lengths: NDArray[np.uint32], languages: NDArray[np.uint8]
) -> dict[str, FieldLengths]:
    """Add up the lengths of rows by field; the memory of the file behind them is let go.

    Args:
        names: of a field, and of those of languages that belong to it.
        lengths: of the rows, each in the one of these fields that has it, shape (n,).
        languages: the place of that field among the names, shape (n,).
    """
    totals, filled = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for first in range(0, len(lengths), _PIECE):
        lengths_of_piece, places = lengths[first : first + _PIECE], languages[first : first + _PIECE]
        totals += np.bincount(places, lengths_of_piece, len(names)).astype(np.int64)
        filled += np.bincount(places[lengths_of_piece > 0], minlength=len(names))
        let_go(lengths)
    return {
        name: FieldLengths(*counts)
        for name, *counts in zip(names, totals.tolist(), filled.tolist(), strict=True)
    }


def row_lengths(segment: SegmentView, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the length of each row of a segment, and the place of its field among the names; shape (n,) both.

    A row has one language, so a field and those of its languages share one array of lengths.

    Args:
        names: of the field, and then those of languages in order, also such as the segment does not have.
    """
    lengths = segment.arrays[f"{names[0]}.{LENGTHS}"]
    languages = segment.arrays.get(f"{names[0]}.{LANGUAGES}", np.zeros(len(lengths), np.uint8))
    places = np.array([place for place, name in enumerate(names) if name in segment.meta], np.uint8)
    return lengths, places[languages]


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
