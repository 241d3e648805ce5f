"""What do all combinations of retrievers do with items?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sleuth.errors import ArgumentError
from sleuth.types import Explanation, RetrievedItem


def check_k(k: Any) -> int:
    """`k`, where it is a count; raises ArgumentError where not."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ArgumentError(f"k must be an int of at least 0, got {k!r}")
    return k


def check_pool(pool: Any) -> int:
    """`pool`, where it is a count above 0; raises ArgumentError where not."""
    if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1:
        raise ArgumentError(f"pool must be an int of at least 1, got {pool!r}")
    return pool


def best_first(items: Iterable[RetrievedItem]) -> list[RetrievedItem]:
    """Items by score, ties by id; those without a score last."""
    return sorted(items, key=lambda item: (item.score is None, -(item.score or 0.0), item.id))


def rescored(
    item: RetrievedItem, score: float, name: str, formula: str, **facts: float | str
) -> RetrievedItem:
    """The item with another score, and an explanation that holds the one before it."""
    parts = (item.explanation,) if item.explanation else ()
    told = Explanation(name, score, formula, facts, parts)
    return item.model_copy(update={"score": score, "extra": {**item.extra, "explanation": told}})
