"""Reads what a request asks: the search syntax of its query, and what no passage can fulfil."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sleuth.engine.queries import SearchQuery, parse_query
from sleuth.engine.selection import KNOWN_KEYS, unknown_keys
from sleuth.errors import RetrievalError
from sleuth.text.analyzers import get_analyzer

if TYPE_CHECKING:
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.search import Searchers
    from sleuth.engine.view import IndexView
    from sleuth.filters import Filter
    from sleuth.store import IndexSnapshot


class ReadRequest(NamedTuple):
    """What a request asks.

    Attributes:
        query: its words and conditions.
        tree: which passages may answer; None for all.
        notes: for the author of the request.
    """

    query: SearchQuery
    tree: Filter | None
    notes: Sequence[str]


def read(
    view: IndexView,
    request: SearchRequest,
    tree: Filter | None,
    searchers: Searchers,
    snapshot: IndexSnapshot,
) -> ReadRequest:
    """Read a request, whose filter is `tree`, over the passages of a version."""
    notes = [] if tree is None else unknown_keys(tree, searchers.key_names(snapshot))
    if not request.syntax:
        return ReadRequest(SearchQuery(request.query), tree, notes)
    query = parse_query(request.query, KNOWN_KEYS.union(searchers.key_names(snapshot)))
    notes += query.notes()
    if not query.text.strip():
        notes.append("a query must hold a word to look for, not only words to leave out")
        return ReadRequest(query, tree, notes)
    from sleuth.engine.spelling import suggestions

    try:
        hints = suggestions(query.words, searchers, snapshot, get_analyzer(view.backend.settings.analyzer))
        hints += [
            f"no passage has {condition.text!r} under {condition.field!r}"
            for condition in query.conditions
            if condition.field and not condition.excluded and not searchers.fulfils(condition, snapshot)
        ]
    except RetrievalError:  # a shard is missing, as the ranking says: its documents are unknown
        hints = []
    return ReadRequest(query, tree, notes + hints)
