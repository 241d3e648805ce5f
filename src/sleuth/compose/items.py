"""Sorts and rescores items, for all combinations of retrievers."""

from __future__ import annotations

from collections.abc import Iterable

from sleuth.types import Explanation, RetrievedItem


def best_first(items: Iterable[RetrievedItem]) -> list[RetrievedItem]:
    """Sort items by score, ties by id; those without a score come last."""
    return sorted(items, key=lambda item: (item.score is None, -(item.score or 0.0), item.id))


def rescored(
    item: RetrievedItem, score: float, name: str, formula: str, **facts: float | str
) -> RetrievedItem:
    """Return the item with another score; the explanation of the old score becomes a part of the new one."""
    parts = (item.explanation,) if item.explanation else ()
    explanation = Explanation(name, score, formula, facts, parts)
    return item.model_copy(update={"score": score, "extra": {**item.extra, "explanation": explanation}})
