"""Reads vectors out of answers, scales and compares them."""

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
    return vectors([values], 1)[0]


def vectors(rows: Any, count: int) -> list[list[float]]:
    """Return `rows` as vectors of one length, shape (count, dimension).

    Raises:
        AnswerError: another number of vectors, vectors of several lengths, or one that holds something else than
            finite numbers.
    """
    if not isinstance(rows, list):
        raise AnswerError(f"answered without vectors: {str(rows)[:80]!r}")
    if rows or count:
        from sleuth.vectors import checked_vectors

        try:
            checked_vectors(rows, count)
        except ValueError as error:
            raise AnswerError(f"must answer {error}") from error
    return rows


def unit(values: Sequence[float]) -> list[float]:
    """Scale `values` to length 1; a zero vector stays as it is."""
    norm = math.sqrt(math.fsum(value * value for value in values))
    return [value / norm for value in values] if norm else list(values)


def close(a: Sequence[float], b: Sequence[float]) -> bool:
    """Tell whether two vectors differ by at most a thousandth of their length, which float16 servers need."""
    if len(a) != len(b):
        return False
    difference = math.sqrt(math.fsum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return difference <= 1e-3 * math.sqrt(math.fsum(x * x for x in a))  # float16 rounds
