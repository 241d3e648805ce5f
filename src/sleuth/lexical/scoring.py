"""The formulas of term weights, as they are named to users.

BM25 (Lucene idf): Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's idf, which is
never negative, and without the constant factor k1 + 1, as in Lucene 8 and later. TF-IDF: Lucene's ClassicSimilarity
with the exact length.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

from sleuth.errors import ArgumentError

Weighting: TypeAlias = Literal["bm25", "tfidf"]
_WEIGHTINGS = get_args(Weighting)

K1 = 1.2
"""How soon further occurrences stop counting; 0 for at once."""
B = 0.75
"""How far long rows are held back; 0 for not at all."""


def bm25_idf(df: int, n: int) -> float:
    """ln(1 + (n - df + 0.5) / (df + 0.5)), for a term in df of n rows; above 0."""
    return math.log1p((n - df + 0.5) / (df + 0.5))


def bm25_norm(average: float, k1: float, b: float) -> tuple[float, float]:
    """(c0, c1) such that a row of length L scores tf / (tf + c0 + c1 L): c0 = k1 (1 - b), c1 = k1 b / average."""
    return k1 * (1 - b), k1 * b / average if average else 0.0


def tfidf_idf(df: int, n: int) -> float:
    """1 + ln((n + 1) / (df + 1)); squared in the score, once for the query and once for the row."""
    return 1 + math.log((n + 1) / (df + 1))


def formula(weighting: Weighting, k1: float, b: float) -> str:
    """Return the whole formula, in words that a reader can check."""
    if weighting == "tfidf":
        return "TF-IDF (Lucene classic): sum of weight * (1 + ln((n + 1) / (df + 1)))^2 * sqrt(tf) / sqrt(length)"
    return (
        f"BM25 (Lucene idf), k1={k1:g}, b={b:g}: sum of weight * ln(1 + (n - df + 0.5) / (df + 0.5)) * "
        "tf / (tf + k1 * (1 - b + b * length / average))"
    )


def term_formula(weighting: Weighting) -> str:
    """Return the part of one term."""
    if weighting == "tfidf":
        return "weight * idf^2 * sqrt(tf) / length_norm"
    return "weight * idf * tf / (tf + length_norm)"


def check_weighting(weighting: str) -> None:
    """Raises ArgumentError where there is no such weighting."""
    if weighting not in _WEIGHTINGS:
        raise ArgumentError(f"weighting must be one of {', '.join(_WEIGHTINGS)}, got {weighting!r}")
