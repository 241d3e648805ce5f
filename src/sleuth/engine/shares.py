"""How much a passage has in common with a query, on a scale from 0 to 1 that compares between queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.store import Hits, RankingLeg
    from sleuth.text import Analyzer
    from sleuth.types import RetrievedItem


def similar_rows(
    leg: RankingLeg[Any], query: str, hits: Hits, idf: Callable[[Iterable[str]], Mapping[str, float]]
) -> dict[int, float]:
    """Return how similar hits are to a query, by key, above 0; rows that have nothing in common with it are left out.

    The score is counted from that of rows without anything in common, and divided by the greatest score.
    """
    unrelated = leg.unrelated(query)
    if unrelated >= 1:
        return {}
    greatest = leg.greatest(query, idf)
    shares = ((score / greatest - unrelated) / (1 - unrelated) for score in hits.scores.tolist())
    return {key: share for key, share in zip(hits.keys.tolist(), shares, strict=True) if share > 0}


def shares_of(
    items: Sequence[RetrievedItem],
    similarities: Sequence[float],
    *,
    analyzer: Analyzer,
    idf: Mapping[str, float],
) -> list[float]:
    """Return the greater of two shares for each passage: 0 is nothing in common, 1 all words or the same meaning.

    The first is the share of the query's words that the passage holds, each weighed by its idf. The second is how
    similar a leg finds it to the query.

    Args:
        similarities: one for each item, 0 where it is not known.
        idf: of each word of the query.
    """
    total = sum(idf.values()) or 1.0
    shares = []
    for item, similarity in zip(items, similarities, strict=True):
        words = set(analyzer.tokens(item.text))
        for key in ("title", "heading"):
            words.update(analyzer.tokens(str(item.metadata.get(key) or "")))
        share = sum(worth for word, worth in idf.items() if word in words) / total
        shares.append(min(1.0, max(share, similarity)))
    return shares
