"""Combines local documents and web pages into one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any


def merge(
    local_docs: Sequence[Mapping[str, Any]], web_docs: Sequence[Mapping[str, Any]] | Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return local documents and then web pages, in their own orders, with ids that do not collide.

    Local ids stay. Web pages get the next numbers after the greatest local one. Numbers that are local ids are
    skipped, also if the id is text: "7" and 7 are one id to most programs. The input is not changed.

    Args:
        local_docs: as `retrieve_local_docs` returns them.
        web_docs: the `results` of `search_web`, or its whole return value, with or without a query id.
    """
    docs = web_docs.get("web_docs", web_docs) if isinstance(web_docs, Mapping) else web_docs
    pages = docs.get("results", ()) if isinstance(docs, Mapping) else docs
    documents = [dict(document) for document in local_docs]
    numbers = [number for document in documents if (number := _whole(document.get("id"))) is not None]
    local_ids = {str(document.get("id")) for document in documents}
    free = (number for number in count(max(numbers, default=-1) + 1) if str(number) not in local_ids)
    return documents + [{**page, "id": next(free)} for page in pages]


def _whole(id: object) -> int | None:
    """Return an id as an integer, or None. A table with gaps turns 1 into 1.0, so such floats count."""
    return int(id) if isinstance(id, int) or (isinstance(id, float) and id.is_integer()) else None


def fuse(
    local_docs: Sequence[Mapping[str, Any]],
    web_docs: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    k: int | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    rank_constant: float = 60,
) -> list[dict[str, Any]]:
    """Rank local documents and web pages together by reciprocal rank, since their scores cannot be compared.

    To fuse retrievers instead of lists, and by score: `sleuth.compose.fused.FusedRetriever`.

    Args:
        local_docs, web_docs: as for `merge`, each best first.
        k: how many to return; None returns all.
        weights: of "local" and "web"; 1 where not named.
        rank_constant: as in `weight / (rank_constant + rank)`.

    Returns:
        Copies, best first, equal scores in order of `merge`, with the ids that `merge` gives and the fused
        `score`.
    """
    documents = merge(local_docs, web_docs)
    split = len(local_docs)
    rankings = {"local": range(split), "web": range(split, len(documents))}
    pairs = fuse_ranks(rankings, k, weights=weights, rank_constant=rank_constant)
    return [{**documents[key], "score": score} for key, score in pairs]


def fuse_ranks(
    rankings: Mapping[str, Sequence[int]],
    k: int | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    rank_constant: float = 60,
) -> list[tuple[int, float]]:
    """Return the numbers in several rankings, by name and best first, with their scores by reciprocal rank."""
    import numpy as np

    from sleuth.compose.fuse import Pool, fuse_hits

    pools = {
        name: Pool(np.array(ranking, np.int64), np.arange(len(ranking), 0, -1).astype(np.float64))
        for name, ranking in rankings.items()
    }
    fusion = fuse_hits(pools, weights, "rrf", k, rank_constant=rank_constant)
    return list(zip(fusion.keys.tolist(), fusion.scores.tolist(), strict=True))
