"""Reads what a request asks, and decides how it is searched, before any leg is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sleuth.compose.variety import FEW, STEP, WINDOW
from sleuth.engine.fusion import as_fusion
from sleuth.engine.queries import SearchQuery, parse_query
from sleuth.engine.selection import KNOWN_KEYS, unknown_keys
from sleuth.engine.widening import widened
from sleuth.errors import RetrievalError

if TYPE_CHECKING:
    from sleuth.engine.fusion import Fusion
    from sleuth.engine.pinned import Pinned
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.reranking import Reranking
    from sleuth.engine.view import IndexView
    from sleuth.filters import Filter


class SearchPlan(NamedTuple):
    """How a request is searched in one version of an index.

    Attributes:
        request, view: what is searched for, in which view.
        version: whose leg for words searches further words of the query, too.
        query, tree: the words and conditions of the request, and its filter; None for no filter.
        legs: names of the legs that are asked.
        fusion, reranking: how their rankings become one, and what orders its best passages again.
        is_reranked: whether a model orders the best passages again.
        rows: how many rows are ranked at first, which depends on k only where more rows can follow.
        is_bounded: whether the passages are arranged or judged, so that no more can follow those.
        depth: how many passages are chosen among.
        notes: for the author of the request; each stage adds its own.
    """

    request: SearchRequest
    view: IndexView
    version: Pinned
    query: SearchQuery
    tree: Filter | None
    legs: Sequence[str]
    fusion: Fusion
    reranking: Reranking
    is_reranked: bool
    rows: int
    is_bounded: bool
    depth: int
    notes: list[str]

    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is among the passages of the version."""
        return self.version.searchers.idf(terms, self.version.snapshot)


def read(request: SearchRequest, tree: Filter | None, version: Pinned) -> tuple[SearchQuery, list[str]]:
    """Return the words and conditions of a request, whose filter is `tree`, and notes for its author."""
    searchers, snapshot = version.searchers, version.snapshot
    notes = [] if tree is None else unknown_keys(tree, searchers.key_names(snapshot))
    if not request.syntax:
        return SearchQuery(request.query), notes
    query = parse_query(request.query, KNOWN_KEYS.union(searchers.key_names(snapshot)))
    notes += query.notes()
    if not query.text.strip():
        notes.append("a query must hold a word to look for, not only words to leave out")
        return query, notes
    from sleuth.engine.spelling import suggestions

    try:
        hints = suggestions(query.words, version)
        hints += [
            f"no passage has {condition.text!r} under {condition.field!r}"
            for condition in query.conditions
            if condition.field and not condition.excluded and not searchers.fulfils(condition, snapshot)
        ]
    except RetrievalError:  # a shard is missing, as the ranking says: its documents are unknown
        hints = []
    return query, notes + hints


def plan(
    view: IndexView,
    request: SearchRequest,
    query: SearchQuery,
    version: Pinned,
    *,
    tree: Filter | None,
    legs: Sequence[str],
    reranking: Reranking,
    notes: list[str],
) -> SearchPlan:
    """Return the plan of a request that was read.

    Args:
        tree: the filter of the request.
        legs: names of the legs to ask.
        reranking: how the request asks to order the best passages again.
        notes: for the author of the request, so far.
    """
    k, fusion, searchers = request.k, as_fusion(request.fusion), version.searchers
    is_bounded = request.arrangement is not None or request.min_score is not None
    # So many rows cost less at once than to rank once more when copies give way; fused ones cost next to nothing.
    depth, rows = k, max(min(2 * k, k + FEW), FEW if len(legs) > 1 else 0)
    if len(legs) == 1 and searchers.legs[legs[0]].is_exact:  # whose rows cost the more the more they are
        step = STEP if request.per_document and searchers.is_cut else 0
        rows = max(rows, k + min(k // 2, WINDOW)) if request.fold_copies else k + step
    reranked_depth = reranking.depth
    if reranked_depth:  # what is arranged or judged does not depend on k
        depth = max(k + WINDOW, reranked_depth)
        rows = max(depth, fusion.pool)
    if is_bounded:
        rows = fusion.pool
    if searchers.word_leg in legs and not query.is_lookup:
        try:
            wider = widened(query, request, view, version)
        except RetrievalError:  # a shard is missing, as the ranking says: its words are unknown
            wider = None
        if wider is not None:
            notes += wider.notes
            version = version._replace(wider=wider) if wider.leg else version
    is_reranked = reranked_depth > 0 and not (query.is_lookup and reranking.is_default)
    return SearchPlan(
        request, view, version, query, tree, legs, fusion, reranking, is_reranked, rows, is_bounded, depth, notes,
    )  # fmt: skip
