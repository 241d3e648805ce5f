"""Decides how a request is searched, before any leg is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

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
    from sleuth.store import IndexSnapshot, RankingLeg
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
    version: Pinned
    rows: int
    is_bounded: bool
    depth: int
    notes: list[str]

    @property
    def is_reranked(self) -> bool:
        """Whether a model orders the best passages again."""
        return self.reranking.depth > 0 and not (self.query.is_lookup and self.reranking.is_default)

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
    depth, rows = k, max(min(2 * k, k + FEW), _rows_for_copies(k, [searchers.legs[leg] for leg in legs]))
    if reranking.depth:  # what is arranged or judged does not depend on k
        depth = max(k + WINDOW, reranking.depth)
        rows = max(depth, fusion.pool)
    if is_bounded:
        rows = fusion.pool
    version, notes = Pinned(searchers, searchers.until(snapshot, deadline), deadline), list(reading.notes)
    if searchers.word_leg in legs and not query.is_lookup:
        version = _with_more_words(version, query, request, view, notes=notes)
    return SearchPlan(
        request, view, searchers, snapshot, query, reading.tree, legs, fusion, reranking, version, rows, is_bounded,
        depth, notes,
    )  # fmt: skip


def _rows_for_copies(k: int, legs: Sequence[RankingLeg[Any]]) -> int:
    """Return how many rows to rank at once, where that costs less than to rank once more when copies give way."""
    if len(legs) > 1:
        return FEW  # fused rows cost next to nothing
    return k + min(k // 2, WINDOW) if legs[0].is_exact else 0


def _with_more_words(
    version: Pinned, query: SearchQuery, request: SearchRequest, view: IndexView, *, notes: list[str]
) -> Pinned:
    """Return a version whose leg for words searches further words of a query, too; notes name them."""
    from sleuth.engine.widening import widened

    analyzer = get_analyzer(view.backend.settings.analyzer)
    synonyms = view.synonyms if request.synonyms else None
    try:
        wider = widened(
            query,
            request.fuzzy,
            synonyms,
            searchers=version.searchers,
            snapshot=version.snapshot,
            analyzer=analyzer,
            embedder=view.backend.embedder,
        )
    except RetrievalError:  # a shard is missing, as the ranking says: its words are unknown
        return version
    if wider is None:
        return version
    notes += wider.notes
    return replace(version, wider=wider) if wider.leg else version
