"""Retrieves the best passages of one version of an index: read, plan, rank, choose and show, each in its own module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sleuth.arguments import is_blank
from sleuth.compose.variety import choose_among
from sleuth.engine.choice import choose_items
from sleuth.engine.embedders import DEFAULT, HOW_TO_ADD_LANGUAGES
from sleuth.engine.plan import SearchPlan, plan
from sleuth.engine.reading import read
from sleuth.engine.reranking import Reranking, are_english
from sleuth.engine.rows import rows_of
from sleuth.engine.search import check_legs
from sleuth.filters import as_filter
from sleuth.remote import Deadline
from sleuth.types import Ranking

if TYPE_CHECKING:
    from sleuth.engine.ranking import RankedRows
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.view import IndexView
    from sleuth.types import RetrievedItem


def retrieve(view: IndexView, request: SearchRequest) -> Ranking:
    """Return the best passages for a request; see `Engine.retrieve`."""
    deadline = None if request.deadline is None else Deadline(request.deadline)
    tree, reranking = as_filter(request.filter), Reranking.of(request, deadline, view.backend)
    with view.store.reader() as snapshot:
        searchers = view.backend.searchers_of(snapshot)
        legs = check_legs(request.legs, searchers.legs)
        if not request.k or is_blank(request.query):
            return Ranking(())
        reading = read(view, request, tree, searchers, snapshot)
        if not reading.query.text.strip():
            return Ranking((), notes=reading.notes)
        search = plan(
            view, request, reading, legs, reranking, searchers=searchers, snapshot=snapshot, deadline=deadline
        )
        rows = rows_of(search)
        items = choose_items(search, rows)
    return show(search, rows, items)


def show(search: SearchPlan, rows: RankedRows, items: Sequence[RetrievedItem]) -> Ranking:
    """Return the answer of a search: its passages, ordered again where the plan says so, and what to tell its author.

    Args:
        items: that were chosen; all candidates where a model orders them again.
    """
    request, notes = search.request, search.notes
    is_default = request.legs is None and search.view.backend.settings.embedder == DEFAULT
    best = items[: search.reranking.depth if search.is_reranked else request.k]
    is_english = not (is_default or search.is_reranked) or are_english(search.query.text, best)
    if search.is_reranked:
        answer = search.reranking.apply(search.query.text, items, is_english=is_english)
        if request.arrangement is not None:
            answer = request.arrangement.apply(answer)
        notes += answer.notes
        items = (
            answer.items if rows.is_listing else choose_among(answer.items, request.k, **request.variety())
        )
    items = items[: request.k]
    is_multilingual = search.is_reranked and not search.reranking.is_english
    if items and is_default and not is_multilingual and not is_english:
        notes.append(HOW_TO_ADD_LANGUAGES)
    return Ranking(items, rows.parts, notes)
