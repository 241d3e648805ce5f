"""Retrieves the best passages of one version of an index, with everything that a search can ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.arguments import check_names
from sleuth.engine.expansion import Expansion, check_expansion, grow
from sleuth.engine.fusion import Fusion, as_fusion
from sleuth.engine.queries import SearchQuery, parse_query
from sleuth.engine.search import check_deadline, check_legs, read_items
from sleuth.engine.shares import shares_of, similar_rows
from sleuth.errors import ArgumentError, RetrievalError
from sleuth.filters import all_of, as_filter
from sleuth.text import get_analyzer
from sleuth.types import Explanation, Ranking

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine
    from sleuth.engine.queries import QueryCondition
    from sleuth.engine.ranking import RankedRows
    from sleuth.engine.search import Searchers
    from sleuth.filters import Filter
    from sleuth.protocols import Reranker
    from sleuth.store import IndexSnapshot
    from sleuth.types import RetrievedItem

RERANKED = 100
"""Passages that a reranker is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveOptions:
    """The options of `Engine.retrieve`, which documents them."""

    filter: Filter | Mapping[str, Any] | str | None = None
    legs: Sequence[str] | None = None
    fusion: Fusion | str | None = None
    expand: Expansion = None
    explain: bool = False
    exact: bool = False
    deadline: float | None = None
    syntax: bool = False
    min_score: float | None = None
    rerank: Reranker | str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> RetrieveOptions:
        """Options by name.

        Raises:
            ArgumentError: an unknown name; gives the nearest one.
        """
        check_names(options, _DEFAULTS)
        return cls(**options)

    def changed(self) -> dict[str, Any]:
        """Return the options that differ from the default."""
        values = ((name, getattr(self, name), default) for name, default in _DEFAULTS.items())
        return {name: value for name, value, default in values if value is not default}


_DEFAULTS = {field.name: field.default for field in fields(RetrieveOptions)}


def retrieve(engine: Engine, query: str, k: int, options: RetrieveOptions) -> Ranking:
    """Return the best `k` passages; see `Engine.retrieve`. The query and `k` are checked."""
    check_expansion(options.expand)
    least, reranker = check_min_score(options.min_score), as_reranker(options.rerank)
    deadline = check_deadline(options.deadline)
    own_filter, fusion = as_filter(options.filter), as_fusion(options.fusion)
    tree = all_of(engine.scope, own_filter)
    with engine.store.reader() as snapshot:
        searchers = engine.searchers_of(snapshot)
        legs = check_legs(options.legs, searchers.legs)
        if not k or not query.strip():
            return Ranking(())
        notes = _notes_on(own_filter, engine, snapshot)
        text, is_lookup = query, False
        conditions: tuple[QueryCondition, ...] = ()
        if options.syntax:
            parsed, more = read_query(engine, query, snapshot)
            text, conditions, is_lookup = parsed.text, parsed.conditions, parsed.is_lookup
            notes += more
            if not text.strip():
                return Ranking((), notes=notes)
        ranked = searchers.search(
            text,
            k if least is None and reranker is None else max(k, fusion.pool),
            tree,
            legs,
            fusion,
            snapshot=snapshot,
            explain=options.explain,
            exact=options.exact,
            deadline=deadline,
            conditions=conditions,
        )
        if is_lookup and not ranked.keys:
            ranked = looked_up(ranked, conditions, searchers, snapshot, tree)
        elif least is not None and not is_lookup:
            ranked = in_common(engine, text, ranked, snapshot, least)
        items = _items(snapshot, ranked, k if reranker is None else max(k, RERANKED), options, engine.scope)
    if reranker is not None:
        items = list(reranker.rerank(text, items))[:k]
    return Ranking(items, ranked.parts, notes)


def _notes_on(tree: Filter | None, engine: Engine, snapshot: IndexSnapshot) -> list[str]:
    """Name the keys of a filter that no document has."""
    if tree is None:
        return []
    from sleuth.engine.selection import unknown_keys

    return unknown_keys(tree, snapshot, engine.searchers_of(snapshot), engine.scope)


class NotedQuery(NamedTuple):
    """A query that was read, with notes for whoever wrote it."""

    query: SearchQuery
    notes: Sequence[str] = ()


def read_query(engine: Engine, query: str, snapshot: IndexSnapshot) -> NotedQuery:
    """Read the search syntax of a query."""
    from sleuth.engine.selection import KNOWN_KEYS
    from sleuth.engine.spelling import suggestions

    searchers = engine.searchers_of(snapshot)
    parsed = parse_query(query, KNOWN_KEYS.union(searchers.key_names(snapshot, engine.scope)))
    if not parsed.text.strip():
        return NotedQuery(parsed, ["a query must hold a word to look for, not only words to leave out"])
    analyzer = get_analyzer(engine.settings.analyzer)
    try:
        notes = suggestions(parsed.words, searchers, snapshot, analyzer, engine.scope)
        for condition in parsed.conditions:
            if condition.field and not condition.excluded and not searchers.fulfils(condition, snapshot):
                notes.append(f"no passage has {condition.text!r} under {condition.field!r}")
    except RetrievalError:  # a shard is missing, as the ranking says: nobody knows what it holds
        return NotedQuery(parsed)
    return NotedQuery(parsed, notes)


def looked_up(
    ranked: RankedRows,
    conditions: tuple[QueryCondition, ...],
    searchers: Searchers,
    snapshot: IndexSnapshot,
    tree: Filter | None,
) -> RankedRows:
    """Return all rows with the values that a query asks for, by id, whether or not they match its words."""
    keys = searchers.lookup(conditions, tree, snapshot)
    explanation = Explanation("metadata", 0.0, "the metadata holds what the query asks for")
    return replace(ranked, keys=keys, scores=[0.0] * len(keys), explain=lambda _: explanation)


def in_common(
    engine: Engine, query: str, ranked: RankedRows, snapshot: IndexSnapshot, least: float
) -> RankedRows:
    """Return the rows that share at least so much with the query, and more than nothing."""
    legs = engine.searchers_of(snapshot).legs
    certain = [hits for name, hits in ranked.hits.items() if legs[name].is_certain]
    similarities: dict[int, float] = {}
    for name, hits in ranked.hits.items():
        if not legs[name].is_certain:
            for key, similarity in similar_rows(legs[name], query, hits, engine.idf).items():
                similarities[key] = max(similarity, similarities.get(key, 0.0))
    if least or not certain:
        analyzer = get_analyzer(engine.settings.analyzer)
        shares = shares_of(
            read_items(snapshot, ranked.keys, ranked.scores),
            [similarities.get(key, 0.0) for key in ranked.keys],
            analyzer=analyzer,
            idf=engine.idf(dict.fromkeys(analyzer.tokens(query))),
        )
        places = [place for place, share in enumerate(shares) if share >= least and share > 0]
    else:
        related = similarities.keys() | {key for hits in certain for key in hits.keys.tolist()}
        places = [place for place, key in enumerate(ranked.keys) if key in related]
    return replace(
        ranked,
        keys=[ranked.keys[place] for place in places],
        scores=[ranked.scores[place] for place in places],
        explain=lambda i: ranked.explain(places[i]),
    )


def _items(
    snapshot: IndexSnapshot, ranked: RankedRows, most: int, options: RetrieveOptions, scope: Filter | None
) -> list[RetrievedItem]:
    """Return the first passages of a ranking, explained and grown as the options say."""
    keys = ranked.keys[:most]
    items = read_items(snapshot, keys, ranked.scores[:most])
    if options.explain:
        for i, item in enumerate(items):
            item.extra["explanation"] = ranked.explain(i)
    if options.expand is not None:
        items = grow(snapshot, snapshot.rows(keys), items, options.expand, scope)
    return items


def check_min_score(value: float | None) -> float | None:
    """Refuse a least score that is none.

    Raises:
        ArgumentError: not a number from 0 to 1.
    """
    if value is None or (type(value) in (int, float) and 0 <= value <= 1):
        return value
    raise ArgumentError(f"min_score must be a number from 0 to 1, or None, got {value!r}")


def as_reranker(value: Reranker | str | None) -> Reranker | None:
    """Convert what users give to a reranker: a reranker, the name of a cross-encoder, or None.

    Raises:
        ArgumentError: none of these.
        MissingPackageError: a name, without the package that loads it.
    """
    if isinstance(value, str):
        from sleuth.compose import CrossEncoderReranker

        return CrossEncoderReranker(value)
    if value is not None and not hasattr(value, "rerank"):
        raise ArgumentError(f"rerank must be a Reranker, the name of a cross-encoder or None, got {value!r}")
    return value
