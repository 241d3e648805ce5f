"""Checks and scales the vectors that an embedder returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sleuth.llm.http import AnswerError


def vector(values: Any) -> list[float]:
    """Return `values` as a vector, shape (dimension,).

    Raises:
        AnswerError: not a list of finite numbers, or an empty list.
    """
    if not isinstance(values, list) or not values:
        raise AnswerError(f"answered without a vector: {str(values)[:80]!r}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
            raise AnswerError(f"answered with a vector that holds {str(value)[:80]}")
    return values


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def vectors(rows: Any, count: int) -> list[list[float]]:
    """Return `rows` as vectors of one length, shape (count, dimension).

    Raises:
        AnswerError: another number of vectors, or vectors of several lengths.
    """
    if not isinstance(rows, list) or len(rows) != count:
        size = len(rows) if isinstance(rows, list) else rows
        raise AnswerError(f"answered {count} texts with {size!r} vectors")
    checked = [vector(row) for row in rows]
    lengths = {len(row) for row in checked}
    if len(lengths) > 1:
        raise AnswerError(f"answered with vectors of several lengths: {sorted(lengths)}")
    return checked


def unit(values: Sequence[float]) -> list[float]:
    """Scale `values` to length 1; a zero vector stays as it is."""
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm else list(values)


def close(a: Sequence[float], b: Sequence[float]) -> bool:
    """Tell whether two vectors differ by at most a thousandth of their length, which float16 servers need."""
    if len(a) != len(b):
        return False
    difference = math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return difference <= 1e-3 * math.sqrt(math.fsum(x * x for x in a))
