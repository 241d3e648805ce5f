"""Runs: which documents a system ranked for which query."""

from __future__ import annotations

from collections.abc import Mapping

from sleuth.arguments import MOST_K
from sleuth.protocols import Retriever
from sleuth.types import Ranking

Run = dict[str, dict[str, float]]
"""Query id to document id to score; higher is better."""


def make_run(retriever: Retriever, queries: Mapping[str, str], *, k: int = 100) -> Run:
    """Rank documents for every query: a document has the score of its best passage.

    Two passages are requested per document wanted, since several may be of one document. So a k of up to 100 requests
    no more than the 200 candidates per leg that `Engine.retrieve` fuses by default, and the judged ranking begins with
    what it returns for any smaller k; beyond that, the rankings may differ.

    Args:
        k: documents per query, at most.
    """
    passages = max(k, min(2 * k, MOST_K))
    return {id: best_passages(retriever.retrieve(query, passages), k) for id, query in queries.items()}


def best_passages(ranking: Ranking, k: int) -> dict[str, float]:
    """Return the scores of the first `k` documents of a ranking of passages."""
    scores: dict[str, float] = {}
    for place, item in enumerate(ranking):
        id = item.document_id
        if id not in scores:
            if len(scores) == k:
                break
            scores[id] = -float(place) if item.score is None else item.score
    return in_order(scores)


def in_order(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores, lowered just enough that each is less than the one before it in single precision.

    TREC's tools sort by score and ignore order, with equal scores in reverse order of id: they would judge another
    ranking than users see.
    """
    import numpy as np

    lowered: dict[str, float] = {}
    last_score = np.float32(np.inf)
    for id, score in scores.items():
        last_score = min(np.float32(score), np.nextafter(last_score, np.float32(-np.inf)))
        lowered[id] = score if np.float32(score) == last_score else float(last_score)
    return lowered
