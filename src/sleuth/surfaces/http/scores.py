"""Scores between 0 and 1 for clients that expect them there."""

from __future__ import annotations


def unit_score(score: float | None) -> float:
    """Map a score to 0 up to 1: `s / (1 + s)`, and 0 for a negative score or none.

    The map is fixed: the same score always gives the same number, a higher one never a lower number. It does not look
    at the other hits of an answer.
    """
    value = max(0.0, score or 0.0)
    return value / (1.0 + value)
