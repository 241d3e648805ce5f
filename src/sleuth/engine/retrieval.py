"""Retrieves the best passages of one version of an index: read, plan, rank, choose and show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sleuth.arguments import is_blank
from sleuth.compose.variety import choose_among
from sleuth.engine.choice import choose_items
from sleuth.engine.embedders import DEFAULT, HOW_TO_ADD_LANGUAGES
from sleuth.engine.pinned import Pinned
from sleuth.engine.plan import SearchPlan, plan, read
from sleuth.engine.queries import all_words
from sleuth.engine.ranking import rank
from sleuth.engine.reranking import Reranking, are_english
from sleuth.engine.search import check_legs
from sleuth.filters import as_filter
from sleuth.remote import Deadline
from sleuth.types import Explanation, Ranking

if TYPE_CHECKING:
    from sleuth.engine.ranking import RankedRows
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.view import IndexView
    from sleuth.types import RetrievedItem

MOST_SORTED = 10_000
"""Passages that a sorted search orders: those with the best scores where more hold each word."""


def retrieve(view: IndexView, request: SearchRequest) -> Ranking:
    """Return the best passages for a request; see `Engine.retrieve`."""
    deadline = None if request.deadline is None else Deadline(request.deadline)
    tree = None if request.filter is None else as_filter(request.filter)
    reranking = Reranking.of(request, deadline, view.backend)
    with view.store.reader() as snapshot:
        version = Pinned.of(view.backend, snapshot)
        legs = check_legs(request.legs, version.searchers.legs)
        if not request.k or is_blank(request.query):
            return Ranking(())
        query, notes = read(request, tree, version)
        if not query.text.strip():
            return Ranking((), notes=notes)
        if deadline is not None:
            asked = version.searchers.until(snapshot, deadline)
            version = version._replace(asked=asked, deadline=deadline)
        search = plan(view, request, query, version, tree=tree, legs=legs, reranking=reranking, notes=notes)
        rows = rows_of(search)
        items = choose_items(search, rows)
    return show(search, rows, items)


def rows_of(plan: SearchPlan) -> RankedRows:
    """Return the first rows of the ranking that a plan asks for, or a list.

    A sorted search orders all passages that hold each word of its query, else the best ones; a note says which. A query
    for values of metadata alone lists what has them where it is sorted, or where no passage holds one of its words.
    """
    request, query, version, notes = plan.request, plan.query, plan.version, plan.notes
    options: dict[str, Any] = {"fusion": plan.fusion, "explain": request.explain, "exact": request.exact}
    is_sorted = request.sort is not None and not query.is_lookup
    word_leg = version.searchers.word_leg
    if is_sorted and word_leg in plan.legs:
        added = {} if version.wider is None else version.wider.added
        alternatives = {word: dict.fromkeys(term.token for term in terms) for word, terms in added.items()}
        if words := all_words(query.text, version.analyzer, alternatives):
            conditions = (*query.conditions, *words)
            rows = rank(
                version, query.text, MOST_SORTED, plan.tree, legs=[word_leg], conditions=conditions, **options
            )
            if count := len(rows.keys):
                which = "all" if count < MOST_SORTED else "the best"
                noun = "passage that holds" if count == 1 else "passages that hold"
                notes.append(f"sorted: {which} {count:,} {noun} each word of the query")
                return rows
    options |= {"legs": plan.legs, "conditions": query.conditions}
    rows = rank(version, query.text, plan.rows, plan.tree, **options)
    if is_sorted and rows.keys:
        notes.append(f"sorted: the best {len(rows.keys):,} passages; none holds each word of the query")
    if not query.is_lookup or (request.sort is None and rows.keys):
        return rows
    keys = version.searchers.lookup(query.conditions, plan.tree, version.snapshot)
    explanation = Explanation("metadata", 0.0, "the metadata holds what the query asks for")
    scores = [0.0] * len(keys)
    listing = rows._replace(
        keys=keys, scores=scores, explain=lambda _: explanation, deeper=lambda _: listing, is_listing=True
    )
    return listing


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
