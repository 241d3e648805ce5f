"""Hits with scores between 0 and 1, for clients that expect them there."""

from __future__ import annotations

from typing import Any, NamedTuple

from sleuth.engine import SearchRequest
from sleuth.filters import Filter
from sleuth.surfaces.http import Call, remarks_of, retrieve
from sleuth.types import RetrievedItem


class ScoredHit(NamedTuple):
    """A passage with its score from 0 to 1."""

    item: RetrievedItem
    score: float


class ScoredPage(NamedTuple):
    """Hits with their scores, and the fields of `Remarks`."""

    hits: list[ScoredHit]
    remarks: dict[str, Any]


def scored_page(query: str, k: int, filter: Filter | None, call: Call, *, least: float = 0.0) -> ScoredPage:
    """Return the engine's best `k` passages in its order, with the scores of `score_hits`, without those below `least`.

    The engine's own scores are scaled by the hits of one query, so that they do not compare with those of another.
    No score is above that of a better hit: clients that sort by score keep the order.
    """
    from itertools import accumulate

    from sleuth.engine import score_hits

    ranking = retrieve(SearchRequest(query=query, k=k, explain=True), call, k, filter=filter)
    scores = accumulate(score_hits(call.engine, query, ranking), min)
    hits = [ScoredHit(item, score) for item, score in zip(ranking, scores, strict=True) if score >= least]
    return ScoredPage(hits, remarks_of(ranking))
