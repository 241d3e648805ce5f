"""How do some passages count for more than others?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count
from sleuth.compose.items import best_first, rescored
from sleuth.errors import ArgumentError
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever

Test = Callable[[RetrievedItem], bool]


def boost_items(
    items: Iterable[RetrievedItem], factor: float, where: Test | None = None
) -> list[RetrievedItem]:
    """Items with the scores of those that pass the test multiplied, best first, ties by id.

    A score below 0 is divided instead, so that a factor above 1 always moves up. Items without a score stay without.
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
    """A retriever whose hits that pass a test count for more.

    Attributes:
        factor: above 0.
        where: which hits; None boosts all, as one slice among several may be.
        pool: hits asked of the retriever; nothing beyond them is ever found, whatever k is.
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
        """The best `k` after boosting, ties by id."""
        k = check_count(k)
        if not k:
            return Ranking(())
        found = self.retriever.retrieve(query, self.pool, filter=filter)
        return Ranking(boost_items(found, self.factor, self.where)[:k], found.parts)
