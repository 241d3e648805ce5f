"""Decides how a request is searched, before any leg is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sleuth.compose.variety import FEW, WINDOW
from sleuth.engine.fusion import as_fusion
from sleuth.engine.pinned import Pinned
from sleuth.errors import RetrievalError
from sleuth.text.analyzers import get_analyzer

if TYPE_CHECKING:
    from sleuth.engine.fusion import Fusion
    from sleuth.engine.queries import SearchQuery
    from sleuth.engine.reading import ReadRequest
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.reranking import Reranking
    from sleuth.engine.search import Searchers
    from sleuth.engine.view import IndexView
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.store import IndexSnapshot
    from sleuth.text.analyzers import Analyzer


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How a request is searched in one version of an index.

    Attributes:
        request, view: what is searched for, in which view.
        searchers, snapshot: of the version.
        query, tree: the words and conditions of the request, and its filter; None for no filter.
        legs: names of the legs that are asked.
        fusion, reranking: how their rankings become one, and what orders its best passages again.
        is_reranked: whether a model orders the best passages again.
        version: whose leg for words searches further words of the query, too.
        rows: how many rows are ranked at first, which depends on k only where more rows can follow.
        is_bounded: whether the passages are arranged or judged, so that no more can follow those.
        depth: how many passages are chosen among.
        notes: for the author of the request; each stage adds its own.
    """

    request: SearchRequest
    view: IndexView
    searchers: Searchers
    snapshot: IndexSnapshot
    query: SearchQuery
    tree: Filter | None
    legs: Sequence[str]
    fusion: Fusion
    reranking: Reranking
    is_reranked: bool
    version: Pinned
    rows: int
    is_bounded: bool
    depth: int
    notes: list[str]

    @property
    def analyzer(self) -> Analyzer:
        """Splits texts into words as the index does."""
        return get_analyzer(self.view.backend.settings.analyzer)


def plan(
    view: IndexView,
    request: SearchRequest,
    reading: ReadRequest,
    legs: Sequence[str],
    reranking: Reranking,
    *,
    searchers: Searchers,
    snapshot: IndexSnapshot,
    deadline: Deadline | None,
) -> SearchPlan:
    """Return the plan of a request that was read.

    Args:
        legs: names of the legs to ask.
        reranking: how the request asks to order the best passages again.
    """
    k, fusion, query = request.k, as_fusion(request.fusion), reading.query
    is_bounded = request.arrangement is not None or request.min_score is not None
    depth, rows = k, max(min(2 * k, k + FEW), _rows_for_copies(k, searchers, legs))
    reranked_depth = reranking.depth
    if reranked_depth:  # what is arranged or judged does not depend on k
        depth = max(k + WINDOW, reranked_depth)
        rows = max(depth, fusion.pool)
    if is_bounded:
        rows = fusion.pool
    notes, snapshot_in_time = list(reading.notes), snapshot
    if deadline is not None:
        snapshot_in_time = searchers.until(snapshot, deadline)
    version = Pinned(searchers, snapshot_in_time, deadline)
    if searchers.word_leg in legs and not query.is_lookup:
        from sleuth.engine.widening import widened

        try:
            wider = widened(query, request, view, version)
        except RetrievalError:  # a shard is missing, as the ranking says: its words are unknown
            wider = None
        if wider is not None:
            notes += wider.notes
            version = replace(version, wider=wider) if wider.leg else version
    is_reranked = reranked_depth > 0 and not (query.is_lookup and reranking.is_default)
    return SearchPlan(
        request, view, searchers, snapshot, query, reading.tree, legs, fusion, reranking, is_reranked, version, rows,
        is_bounded, depth, notes,
    )  # fmt: skip


def _rows_for_copies(k: int, searchers: Searchers, legs: Sequence[str]) -> int:
    """Return how many rows to rank at once, where that costs less than to rank once more when copies give way."""
    if len(legs) > 1:
        return FEW  # fused rows cost next to nothing
    return k + min(k // 2, WINDOW) if searchers.legs[legs[0]].is_exact else 0
