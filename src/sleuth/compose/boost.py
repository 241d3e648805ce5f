"""Raises the scores of chosen hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sleuth.compose.items import PooledRetriever, best_first, rescored
from sleuth.errors import ArgumentError
from sleuth.types import Ranking, RetrievedItem

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
    formula = "score * factor" if item.score >= 0 else "score / factor"
    return rescored(item, boosted(item.score, factor), "boost", formula, factor=factor)


def boosted(score: float, factor: float) -> float:
    """Return a score times a factor; one below 0 is divided, so that a factor above 1 always raises it."""
    return score * factor if score >= 0 else score / factor


@dataclass(frozen=True)
class BoostedRetriever(PooledRetriever):
    """A retriever that raises the scores of hits that pass a test.

    Attributes:
        factor: above 0.
        where: the test; None boosts all hits, for example to favour one slice among several.
    """

    factor: float
    where: Test | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        boost_items((), self.factor)

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return the hits after boosting, ties by id."""
        return boost_items(ranking, self.factor, self.where)
