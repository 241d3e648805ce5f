"""Raises the scores of chosen hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count
from sleuth.compose.items import best_first, rescored
from sleuth.errors import ArgumentError
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever

Test = Callable[[RetrievedItem], bool]


def boost_items(
    items: Iterable[RetrievedItem], factor: float, where: Test | None = None
) -> list[RetrievedItem]:
    """Multiply the scores of items that pass the test; best first, ties by id.

    A score below 0 is divided instead, so that a factor above 1 always raises it. Items without a score stay so.
    """
    if not 0 < factor < float("inf"):
        raise ArgumentError(f"factor must be a number above 0, got {factor!r}")
    return best_first(_boosted(item, factor) if where is None or where(item) else item for item in items)


def _boosted(item: RetrievedItem, factor: float) -> RetrievedItem:
    if item.score is None:
        return item
    if item.score < 0:
        return rescored(item, item.score / factor, "boost", "score / factor", factor=factor)
    return rescored(item, item.score * factor, "boost", "score * factor", factor=factor)


@dataclass(frozen=True)
class BoostedRetriever:
    """A retriever that raises the scores of hits that pass a test.

    Attributes:
        factor: above 0.
        where: the test; None boosts all hits, for example to favour one slice among several.
        pool: hits requested from the retriever. Hits beyond the pool are never returned, whatever k is.
    """

    retriever: Retriever
    factor: float
    where: Test | None = None
    pool: int = 1000

    def __post_init__(self) -> None:
        check_count(self.pool, "pool", least=1)
        boost_items((), self.factor)

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` after boosting, ties by id."""
        k = check_count(k)
        if not k:
            return Ranking(())
        ranking = self.retriever.retrieve(query, self.pool, filter=filter)
        return Ranking(boost_items(ranking, self.factor, self.where)[:k], ranking.parts, ranking.notes)

    aretrieve = async_twin(retrieve)
