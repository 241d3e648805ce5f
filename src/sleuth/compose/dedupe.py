"""Which hits say the same as a better one?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_count
from sleuth.types import Ranking, RetrievedItem

if TYPE_CHECKING:
    from sleuth.filters import Filter
    from sleuth.protocols import Retriever

Identity = Callable[[RetrievedItem], Hashable]


def by_text(item: RetrievedItem) -> Hashable:
    """Items are the same where their texts are, up to case and spaces; an empty text is like no other."""
    return " ".join(item.text.casefold().split()) or None


def by_metadata(key: str) -> Identity:
    """Items are the same where this value of their metadata is; one without it is like no other."""

    def identity(item: RetrievedItem) -> Hashable:
        value = item.metadata.get(key)
        return None if value is None else repr(value)

    return identity


def deduplicate(
    items: Iterable[RetrievedItem], identity: Identity = by_text, *, most: int = 1
) -> list[RetrievedItem]:
    """Items in their order, without those that `most` earlier ones equal.

    Args:
        items: best first.
        identity: what makes two items equal; None for an item is like no other.
        most: how many of equals to keep, 1 and more: 2 with `by_metadata("source")` gives two passages a document.
    """
    check_count(most, "most", least=1)
    seen: dict[Hashable, int] = {}
    kept: list[RetrievedItem] = []
    for item in items:
        name = identity(item)
        if name is not None:
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > most:
                continue
        kept.append(item)
    return kept


@dataclass(frozen=True)
class DedupedRetriever:
    """A retriever without hits that say the same as better ones.

    Attributes:
        identity, most: see `deduplicate`.
        pool: hits asked of the retriever; nothing beyond them is ever found, whatever k is.
    """

    retriever: Retriever
    identity: Identity = by_text
    most: int = 1
    pool: int = 1000

    def __post_init__(self) -> None:
        check_count(self.pool, "pool", least=1)
        deduplicate((), most=self.most)

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """The best `k` that differ."""
        k = check_count(k)
        if not k:
            return Ranking(())
        found = self.retriever.retrieve(query, self.pool, filter=filter)
        return Ranking(deduplicate(found, self.identity, most=self.most)[:k], found.parts)
