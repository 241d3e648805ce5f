"""How much a passage has in common with a query, on a scale from 0 to 1 that compares between queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sleuth.text import Analyzer
    from sleuth.types import RetrievedItem


def shares_of(
    query: str,
    items: Sequence[RetrievedItem],
    cosines: Sequence[float],
    *,
    analyzer: Analyzer,
    idf: Mapping[str, float],
    unrelated: float,
) -> list[float]:
    """Return the greater of two shares for each passage.

    The first is the share of the query's words that the passage holds, each weighed by its idf. The second is the
    cosine of the vectors, counted from the cosine that texts without anything in common reach. 0 is nothing in
    common, 1 all words or the same meaning.

    Args:
        cosines: of query and passage, one for each item; 0 where it is not known.
        idf: of each word of the query.
        unrelated: the cosine that counts as 0, below 1.
    """
    total = sum(idf.values()) or 1.0
    shares = []
    for item, cosine in zip(items, cosines, strict=True):
        words = set(analyzer.tokens(item.text))
        for key in ("title", "heading"):
            words.update(analyzer.tokens(str(item.metadata.get(key) or "")))
        share = sum(worth for word, worth in idf.items() if word in words) / total
        shares.append(min(1.0, max(share, (cosine - unrelated) / (1 - unrelated), 0.0)))
    return shares
