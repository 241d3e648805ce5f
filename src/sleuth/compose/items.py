"""What do all combinations of retrievers do with items?"""

from __future__ import annotations

from collections.abc import Iterable

from sleuth.types import Explanation, RetrievedItem


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
