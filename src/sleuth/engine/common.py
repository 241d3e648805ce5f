"""Leaves out rows that have nothing in common with a query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sleuth.engine.search import read_items
from sleuth.errors import RetrievalError

if TYPE_CHECKING:
    from sleuth.engine.plan import SearchPlan
    from sleuth.engine.ranking import RankedRows
    from sleuth.store import Hits, RankingLeg
    from sleuth.types import RetrievedItem


def in_common(plan: SearchPlan, rows: RankedRows) -> RankedRows:
    """Leave out what has nothing in common with the query, or less than its `min_score`.

    Without a `min_score` all rows are left out where no passage holds a word of the query, not even one that a filter
    leaves out, and no leg knows its words; otherwise none. A query for values of metadata alone keeps all.
    """
    if plan.query.is_lookup:
        return rows
    searchers, snapshot = plan.version.searchers, plan.version.snapshot
    legs, query, min_score = searchers.legs, plan.query.text, plan.request.min_score
    certain_hits = [hits for name, hits in rows.hits.items() if legs[name].is_certain]
    if min_score is None:
        try:
            if any(map(len, certain_hits)) or searchers.has_word(query, snapshot):
                return rows
        except RetrievalError:  # a shard is missing: its documents are unknown
            return rows
        is_known = any(len(hits.keys) and legs[name].unrelated(query) < 1 for name, hits in rows.hits.items())
        return rows if is_known else replace(rows, keys=[], scores=[])
    similarities: dict[int, float] = {}
    certain_keys: set[int] = set()
    pooled = {key for hits in rows.hits.values() for key in hits.keys.tolist()}
    # A pooled row does not depend on k.
    for pools, own_keys in ((rows.hits, set[int]()), (rows.further, pooled)):
        for name, hits in pools.items():
            if legs[name].is_certain:
                certain_keys.update(hits.keys.tolist())
                continue
            for key, similarity in similar_rows(legs[name], query, hits, plan.idf).items():
                if key not in own_keys:
                    similarities[key] = max(similarity, similarities.get(key, 0.0))
    if min_score or not certain_hits:
        shares = shares_of(
            plan,
            read_items(snapshot, rows.keys, rows.scores),
            [similarities.get(key, 0.0) for key in rows.keys],
        )
        places = [place for place, share in enumerate(shares) if share >= min_score and share > 0]
    else:
        related = similarities.keys() | certain_keys
        places = [place for place, key in enumerate(rows.keys) if key in related]
    return replace(
        rows,
        keys=[rows.keys[place] for place in places],
        scores=[rows.scores[place] for place in places],
        explain=lambda i: rows.explain(places[i]),
    )


def shares_explained(plan: SearchPlan, items: Sequence[RetrievedItem]) -> list[float]:
    """Return the shares of items on the scale of `min_score`, from the scores of the legs in their explanations."""
    legs, query = plan.version.searchers.legs, plan.query.text
    scores = [dict(item.explanation.scores_of(legs)) if item.explanation else {} for item in items]
    similarities = [0.0] * len(items)
    for name in {name for row in scores for name in row if not legs[name].is_certain}:
        of_leg = similarities_of(legs[name], query, [row.get(name, 0.0) for row in scores], plan.idf)
        similarities = list(map(max, similarities, of_leg))
    return shares_of(plan, items, similarities)


def similar_rows(
    leg: RankingLeg[Any], query: str, hits: Hits, idf: Callable[[Iterable[str]], Mapping[str, float]]
) -> dict[int, float]:
    """Return how similar hits are to a query, by key; rows that have nothing in common with it are left out."""
    shares = similarities_of(leg, query, hits.scores.tolist(), idf)
    return {key: share for key, share in zip(hits.keys.tolist(), shares, strict=True) if share > 0}


def similarities_of(
    leg: RankingLeg[Any],
    query: str,
    scores: Sequence[float],
    idf: Callable[[Iterable[str]], Mapping[str, float]],
) -> list[float]:
    """Return how similar rows with these scores of a leg are to a query: 0 has nothing in common with it.

    The score is counted from that of rows without anything in common, and divided by the greatest score.
    """
    unrelated = leg.unrelated(query)
    if unrelated >= 1:
        return [0.0] * len(scores)
    greatest = leg.greatest(query, idf)
    return [max(0.0, (score / greatest - unrelated) / (1 - unrelated)) for score in scores]


def shares_of(plan: SearchPlan, items: Sequence[RetrievedItem], similarities: Sequence[float]) -> list[float]:
    """Return the greater of two shares for each passage: 0 is nothing in common, 1 all words or the same meaning.

    The first is the share of the query's words that the passage holds, each weighed by its idf. The second is how
    similar a leg finds it to the query.

    Args:
        similarities: one for each item, 0 where it is not known.
    """
    analyzer = plan.version.analyzer
    idf = plan.idf(dict.fromkeys(*analyzer.words_of_each([plan.query.text])))
    total = sum(idf.values()) or 1.0
    shares = []
    for item, similarity in zip(items, similarities, strict=True):
        words = set(analyzer.tokens(item.text))
        for key in ("title", "heading"):
            words.update(analyzer.tokens(str(item.metadata.get(key) or "")))
        share = sum(worth for word, worth in idf.items() if word in words) / total
        shares.append(min(1.0, max(share, similarity)))
    return shares
