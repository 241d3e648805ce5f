"""The formulas of term weights, as they are named to users.

BM25 (Lucene idf): Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's idf, which is
never negative, and without the constant factor k1 + 1, as in Lucene 8 and later.
"""

from __future__ import annotations

import math
from typing import Final

K1 = 1.2
"""How soon further occurrences stop counting; 0 for at once."""
B = 0.75
"""How far long rows are held back; 0 for not at all."""


def bm25_idf(df: int, n: int) -> float:
    """ln(1 + (n - df + 0.5) / (df + 0.5)), for a term in df of n rows; above 0."""
    return math.log1p((n - df + 0.5) / (df + 0.5))


TERM_FORMULA: Final = "weight * idf * tf / (tf + length_norm)"
"""What one term adds to a score."""


def formula(k1: float, b: float) -> str:
    """Return the whole formula, in words that a reader can check."""
    return (
        f"BM25 (Lucene idf), k1={k1:g}, b={b:g}: sum of weight * ln(1 + (n - df + 0.5) / (df + 0.5)) * "
        "tf / (tf + k1 * (1 - b + b * length / average))"
    )
