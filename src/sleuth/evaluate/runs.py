"""Runs: which documents a system ranked for which query, as TREC's tools judge it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from sleuth.arguments import MOST_K
from sleuth.protocols import Retriever
from sleuth.types import Ranking

Run = dict[str, dict[str, float]]
"""Query id to document id to score; higher is better."""


def make_run(
    retriever: Retriever,
    queries: Mapping[str, str],
    *,
    k: int = 100,
    passages: int = 2,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Rank documents for every query: a document has the score of its best passage.

    Args:
        k: documents per query, at most.
        passages: passages requested per document wanted, since several may be of one document. With 2, a k of up to 100
            requests no more than the 200 candidates per leg that `Engine.retrieve` fuses by default, so that the judged
            ranking begins with what it returns for any smaller k; beyond that, the rankings may differ.
        threads: queries at a time.
        progress: called with the number of finished queries and of all queries.
    """

    def ask(query: str) -> Ranking:
        return retriever.retrieve(query, max(k, min(k * passages, MOST_K)))

    run: Run = {}
    with ThreadPoolExecutor(threads) as pool:
        for count, (id, ranking) in enumerate(zip(queries, pool.map(ask, queries.values()), strict=True), 1):
            run[id] = best_passages(ranking, k)
            if progress:
                progress(count, len(queries))
    return run


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
