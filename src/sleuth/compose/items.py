"""Sorts and rescores items, for all combinations of retrievers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count
from sleuth.remote import async_twin
from sleuth.types import Explanation, Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever


@dataclass(frozen=True)
class PooledRetriever(ABC):
    """A retriever that changes the order of another one's best hits.

    Attributes:
        pool: hits requested from the retriever. Hits beyond the pool are never returned, whatever k is.
    """

    retriever: Retriever
    _: KW_ONLY
    pool: int = 1000

    def __post_init__(self) -> None:
        check_count(self.pool, "pool", least=1)

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` of the pool in their new order, with the reports and notes of the retriever."""
        k = check_count(k)
        if not k:
            return Ranking(())
        ranking = self.retriever.retrieve(query, self.pool, filter=filter)
        return Ranking(self.ordered(query, ranking, k)[:k], ranking.parts, ranking.notes)

    aretrieve = async_twin(retrieve)

    @abstractmethod
    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return at least the best `k` hits of a pool, in their new order."""


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
