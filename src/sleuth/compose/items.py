"""Sorts, rescores, boosts and deduplicates items, for all combinations of retrievers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from sleuth.arguments import check_count, check_positive
from sleuth.remote import async_twin
from sleuth.text.repeats import Repeats
from sleuth.types import Explanation, Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import FilterForm
    from sleuth.protocols import Retriever


Test = Callable[[RetrievedItem], bool]
Identity = Callable[[RetrievedItem], Hashable]


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

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
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


def boosted(score: float, factor: float) -> float:
    """Return a score times a factor; one below 0 is divided, so that a factor above 1 always raises it."""
    return score * factor if score >= 0 else score / factor


@dataclass(frozen=True)
class BoostedRetriever(PooledRetriever):
    """A retriever that multiplies the scores of hits that pass a test; best first, ties by id.

    A score below 0 is divided instead, so that a factor above 1 always raises it. Items without a score stay so.

    Attributes:
        factor: above 0.
        where: the test; None boosts all hits, for example to favour one slice among several.
    """

    factor: float
    where: Test | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.factor, "factor")

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return the hits after boosting, ties by id."""
        return best_first(map(self._boosted, ranking))

    def _boosted(self, item: RetrievedItem) -> RetrievedItem:
        if item.score is None or not (self.where is None or self.where(item)):
            return item
        formula = "score * factor" if item.score >= 0 else "score / factor"
        return rescored(item, boosted(item.score, self.factor), "boost", formula, factor=self.factor)


@dataclass(frozen=True)
class DedupedRetriever(PooledRetriever):
    """A retriever that drops hits equal to better ones.

    Attributes:
        identity: items with equal values are equal; an item without a value (None) equals no other. By default,
            items whose text is nearly the same are equal (`sleuth.text.repeats.Repeats`).
        most: how many equal items to keep, at least 1.
    """

    identity: Identity | None = None
    most: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.most, "most", least=1)

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return the hits that differ, in their order."""
        repeats, counts = Repeats(), Counter[Hashable]()
        distinct: list[RetrievedItem] = []
        for item in ranking:
            if self.identity is not None:
                name = self.identity(item)
            else:
                place = repeats.add(item.text)
                name = len(repeats) - 1 if place is None else place
            counts[name] += name is not None
            if counts[name] <= self.most:
                distinct.append(item)
        return distinct
