"""Drops hits that repeat a better one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from sleuth.arguments import check_count
from sleuth.compose.items import PooledRetriever
from sleuth.text.repeats import Repeats
from sleuth.types import Ranking, RetrievedItem

Identity = Callable[[RetrievedItem], Hashable]


def by_text() -> Identity:
    """Return an identity under which items with nearly the same text are equal (`sleuth.text.repeats.Repeats`).

    It remembers what it has seen: make a new one for each list.
    """
    repeats = Repeats()

    def identity(item: RetrievedItem) -> Hashable:
        place = repeats.add(item.text)
        return len(repeats) - 1 if place is None else place

    return identity


def deduplicate(
    items: Iterable[RetrievedItem], identity: Identity | None = None, *, most: int = 1
) -> list[RetrievedItem]:
    """Drop items that equal `most` earlier ones; keep the order.

    Args:
        items: best first.
        identity: items with equal values are equal; an item without a value (None) equals no other. By default,
            items whose text is nearly the same are equal.
        most: how many equal items to keep, at least 1.
    """
    check_count(most, "most", least=1)
    identity = by_text() if identity is None else identity
    counts: dict[Hashable, int] = {}
    distinct: list[RetrievedItem] = []
    for item in items:
        name = identity(item)
        if name is not None:
            counts[name] = counts.get(name, 0) + 1
            if counts[name] > most:
                continue
        distinct.append(item)
    return distinct


@dataclass(frozen=True)
class DedupedRetriever(PooledRetriever):
    """A retriever that drops hits equal to better ones.

    Attributes:
        identity, most: see `deduplicate`.
    """

    identity: Identity | None = None
    most: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        deduplicate((), most=self.most)

    def ordered(self, query: str, ranking: Ranking, k: int) -> list[RetrievedItem]:
        """Return the hits that differ."""
        return deduplicate(ranking, self.identity, most=self.most)
