"""Retrievers and rerankers of a test's own."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sleuth.arguments import check_count
from sleuth.types import PartReport, Ranking, RetrievedItem


def ids(items: Iterable[RetrievedItem]) -> list[str]:
    return [item.id for item in items]


class Fixed:
    """A retriever with the same items for every query; a filter is a set of ids.

    Attributes:
        error: what it raises instead.
        after: how many seconds it takes.
        parts, notes: what its rankings have.
        asked: the k of each call.
    """

    def __init__(
        self, *items: RetrievedItem, error: Exception | None = None, after: float = 0,
        parts: Sequence[PartReport] = (), notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.items = sorted(items, key=lambda it: (-(it.score or 0.0), it.id))
        self.error, self.after, self.parts, self.notes = error, after, parts, notes
        self.asked: list[int] = []

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
        time.sleep(self.after)
        if self.error:
            raise self.error
        self.asked.append(check_count(k))
        matches = [it for it in self.items if filter is None or it.id in filter]
        return Ranking(matches[:k], self.parts, self.notes)


class ByLength:
    """A reranker that prefers long texts."""

    def rerank(self, query: str, items: Sequence[RetrievedItem]) -> list[RetrievedItem]:
        reranked = [it.model_copy(update={"score": float(len(it.text))}) for it in items]
        return sorted(reranked, key=lambda it: (-(it.score or 0.0), it.id))
