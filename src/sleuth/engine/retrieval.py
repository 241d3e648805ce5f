"""Retrieves the best passages of one version of an index, with everything that a search can ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.arguments import MOST_K, is_blank
from sleuth.compose.variety import FEW, WINDOW, choose_among
from sleuth.engine.candidates import Candidates
from sleuth.engine.embedders import DEFAULT, HOW_TO_ADD_LANGUAGES
from sleuth.engine.fusion import as_fusion
from sleuth.engine.queries import SearchQuery, all_words, parse_query
from sleuth.engine.ranking import RankedRows, rank
from sleuth.engine.reranking import Reranking, are_english
from sleuth.engine.search import check_legs, read_items
from sleuth.engine.selection import KNOWN_KEYS, unknown_keys, unknown_values
from sleuth.errors import RetrievalError
from sleuth.filters import as_filter, to_text
from sleuth.filters.tree import in_any_case
from sleuth.remote import Deadline
from sleuth.text.analyzers import get_analyzer
from sleuth.types import Explanation, Ranking

if TYPE_CHECKING:
    from sleuth.compose.arrange import Arrangement, NotedItems
    from sleuth.engine.backend import IndexView
    from sleuth.engine.queries import QueryCondition
    from sleuth.engine.ranking import Rankable
    from sleuth.engine.request import SearchRequest
    from sleuth.engine.search import Searchers
    from sleuth.filters import Filter
    from sleuth.store import Hits, IndexSnapshot, RankingLeg
    from sleuth.text.analyzers import Analyzer
    from sleuth.types import RetrievedItem


MOST_SORTED = 10_000
"""Passages that a sorted search orders: those with the best scores where more hold each word."""


def retrieve(view: IndexView, request: SearchRequest) -> Ranking:
    """Return the best passages for a request; see `Engine.retrieve`."""
    k = request.k
    fusion = as_fusion(request.fusion)
    deadline = None if request.deadline is None else Deadline(request.deadline)
    reranking = Reranking.of(request, deadline, view.backend)
    reranked = reranking.depth
    depth = max(k + WINDOW, reranked) if reranked else k  # so many are chosen among, whatever has to move
    tree, arrangement = as_filter(request.filter), request.arrangement
    with view.store.reader() as snapshot:
        searchers = view.backend.searchers_of(snapshot)
        legs = check_legs(request.legs, searchers.legs)
        if not k or is_blank(request.query):
            return Ranking(())
        notes = [] if tree is None else unknown_keys(tree, searchers.key_names(snapshot))
        query = SearchQuery(request.query)
        if request.syntax:
            query, more = read_query(view, request.query, searchers, snapshot)
            notes += more
            if not query.text.strip():
                return Ranking((), notes=notes)
        is_bounded = arrangement is not None or request.min_score is not None
        if is_bounded or reranked:  # what is arranged or judged does not depend on k
            rows = fusion.pool if is_bounded else max(depth, fusion.pool)
        else:
            rows = max(min(2 * k, k + FEW), _rows_for_copies(k, [searchers.legs[leg] for leg in legs]))
        version = searchers.pinned(snapshot, deadline)
        if searchers.word_leg in legs and not query.is_lookup:
            version = _with_more_words(version, query, request, view, notes=notes)
        options: dict[str, Any] = {"fusion": fusion, "explain": request.explain, "exact": request.exact}
        if request.sort is None or query.is_lookup:
            ranking = rank(version, query.text, rows, tree, legs=legs, conditions=query.conditions, **options)
        else:
            analyzer = get_analyzer(view.backend.settings.analyzer)
            options |= {"legs": legs, "word_leg": searchers.word_leg, "analyzer": analyzer}
            ranking = sortable(version, query, rows, tree, notes=notes, **options)
        is_listing = query.is_lookup and (request.sort is not None or not ranking.keys)

        def admit(rows: RankedRows) -> RankedRows:
            if is_listing:
                return looked_up(rows, query.conditions, searchers, snapshot, tree)
            if query.is_lookup:
                return rows
            least = request.min_score
            return in_common(view, searchers, query.text, rows, snapshot=snapshot, least=least)

        deepest = MOST_K + WINDOW if is_bounded else rows  # what is bounded has no more rows
        candidates = Candidates(ranking, deepest, admit, snapshot=snapshot, request=request)
        is_reranked = reranked > 0 and not (query.is_lookup and reranking.is_default)
        is_whole = is_reranked or (is_listing and arrangement is None)
        items = candidates.best(depth) if is_whole else candidates.varied(k)
        notes += candidates.notes
        if not items and tree is not None:
            notes += _notes_on_values(tree, searchers, snapshot)
    if is_reranked:
        answer = _reranked(reranking, query.text, items, arrangement)
        items = list(answer.items) if is_listing else choose_among(answer.items, k, **request.variety())
        notes = [*notes, *answer.notes]
    items = items[:k]
    is_default = request.legs is None and view.backend.settings.embedder == DEFAULT
    is_multilingual = is_reranked and not reranking.is_english
    if items and is_default and not is_multilingual and not are_english(request.query, items):
        notes = [*notes, HOW_TO_ADD_LANGUAGES]
    return Ranking(items, ranking.parts, notes)


def _rows_for_copies(k: int, legs: Sequence[RankingLeg[Any]]) -> int:
    """Return how many rows to rank at once, where that costs less than to rank once more when copies give way."""
    if len(legs) > 1:
        return FEW  # fused rows cost next to nothing
    return k + min(k // 2, WINDOW) if legs[0].is_exact else 0


def _with_more_words(
    version: Any, query: SearchQuery, request: SearchRequest, view: IndexView, *, notes: list[str]
) -> Any:
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


def _reranked(
    reranking: Reranking, query: str, items: Sequence[RetrievedItem], arrangement: Arrangement | None
) -> NotedItems:
    """Return items in the order of a reranker, then arranged."""
    reranked = reranking.apply(query, items)
    return reranked if arrangement is None else arrangement.apply(reranked)


def sortable(
    version: Rankable,
    query: SearchQuery,
    k: int,
    tree: Filter | None,
    *,
    legs: Sequence[str],
    word_leg: str,
    analyzer: Analyzer,
    notes: list[str],
    **options: Any,
) -> RankedRows:
    """Return the candidates of a sorted search: all passages that hold each word of the query, else the best ones.

    Args:
        k: how many are the best ones.
        word_leg: the leg that knows which words passages hold.
        notes: get a sentence that says what is sorted.
        options: of `rank`.
    """
    alternatives = {} if version.wider is None else version.wider.alternatives
    words = all_words(query.text, analyzer, alternatives)
    if word_leg in legs and words:
        conditions = (*query.conditions, *words)
        rows = rank(version, query.text, MOST_SORTED, tree, legs=[word_leg], conditions=conditions, **options)
        if count := len(rows.keys):
            which = "all" if count < MOST_SORTED else "the best"
            noun = "passage that holds" if count == 1 else "passages that hold"
            notes.append(f"sorted: {which} {count:,} {noun} each word of the query")
            return rows
    rows = rank(version, query.text, k, tree, legs=legs, conditions=query.conditions, **options)
    if rows.keys:
        notes.append(f"sorted: the best {len(rows.keys):,} passages; none holds each word of the query")
    return rows


def _notes_on_values(tree: Filter, searchers: Searchers, snapshot: IndexSnapshot) -> list[str]:
    """Say that a filter which matches no passage would in another case, or else which of its values none has."""
    loose, select = in_any_case(tree), partial(searchers.select, snapshot)
    try:
        if select(tree).count().passages:
            return []
        count = 0 if loose == tree else select(loose).count().passages
        if not count:
            return unknown_values(tree, select)
    except RetrievalError:  # a shard is missing: its documents are unknown
        return []
    return [f"no passage matches {to_text(tree)}; in another case {count:,} would: {to_text(loose)}"]


class NotedQuery(NamedTuple):
    """A parsed query, with notes for its author."""

    query: SearchQuery
    notes: Sequence[str] = ()


def read_query(view: IndexView, query: str, searchers: Searchers, snapshot: IndexSnapshot) -> NotedQuery:
    """Read the search syntax of a query."""
    from sleuth.engine.spelling import suggestions

    parts = parse_query(query, KNOWN_KEYS.union(searchers.key_names(snapshot)))
    notes = parts.notes()
    if not parts.text.strip():
        notes.append("a query must hold a word to look for, not only words to leave out")
        return NotedQuery(parts, notes)
    analyzer = get_analyzer(view.backend.settings.analyzer)
    try:
        notes += suggestions(parts.words, searchers, snapshot, analyzer)
        for condition in parts.conditions:
            if condition.field and not condition.excluded and not searchers.fulfils(condition, snapshot):
                notes.append(f"no passage has {condition.text!r} under {condition.field!r}")
    except RetrievalError:  # a shard is missing, as the ranking says: its documents are unknown
        return NotedQuery(parts, parts.notes())
    return NotedQuery(parts, notes)


def looked_up(
    rows: RankedRows,
    conditions: tuple[QueryCondition, ...],
    searchers: Searchers,
    snapshot: IndexSnapshot,
    tree: Filter | None,
) -> RankedRows:
    """Return all rows with the values that a query asks for, by id, whether or not they match its words."""
    keys = searchers.lookup(conditions, tree, snapshot)
    explanation = Explanation("metadata", 0.0, "the metadata holds what the query asks for")
    return replace(rows, keys=keys, scores=[0.0] * len(keys), explain=lambda _: explanation)


def in_common(
    view: IndexView,
    searchers: Searchers,
    query: str,
    rows: RankedRows,
    *,
    snapshot: IndexSnapshot,
    least: float | None,
) -> RankedRows:
    """Leave out what has nothing in common with the query.

    Args:
        least: the share that each row must have in common. None leaves out all rows where nothing in the index holds
            a word of the query and no leg knows its words, and otherwise none.
    """
    legs = searchers.legs
    certain = [hits for name, hits in rows.hits.items() if legs[name].is_certain]
    if least is None and (
        any(len(hits.keys) for hits in certain) or _holds_a_word(searchers, query, snapshot)
    ):
        return rows
    if least is None:
        is_known = any(len(hits.keys) and legs[name].unrelated(query) < 1 for name, hits in rows.hits.items())
        return rows if is_known else replace(rows, keys=[], scores=[])
    similarities: dict[int, float] = {}
    certain_keys: set[int] = set()
    pooled = {key for hits in rows.hits.values() for key in hits.keys.tolist()}
    for pools, own_keys in (
        (rows.hits, set[int]()),
        (rows.further, pooled),
    ):  # a pooled row does not depend on k
        for name, hits in pools.items():
            if legs[name].is_certain:
                certain_keys.update(hits.keys.tolist())
                continue
            for key, similarity in similar_rows(legs[name], query, hits, view.idf).items():
                if key not in own_keys:
                    similarities[key] = max(similarity, similarities.get(key, 0.0))
    if least or not certain:
        analyzer = get_analyzer(view.backend.settings.analyzer)
        shares = shares_of(
            read_items(snapshot, rows.keys, rows.scores),
            [similarities.get(key, 0.0) for key in rows.keys],
            analyzer=analyzer,
            idf=view.idf(dict.fromkeys(*analyzer.words_of_each([query]))),
        )
        places = [place for place, share in enumerate(shares) if share >= least and share > 0]
    else:
        related = similarities.keys() | certain_keys
        places = [place for place, key in enumerate(rows.keys) if key in related]
    return replace(
        rows,
        keys=[rows.keys[place] for place in places],
        scores=[rows.scores[place] for place in places],
        explain=lambda i: rows.explain(places[i]),
    )


def _holds_a_word(searchers: Searchers, query: str, snapshot: IndexSnapshot) -> bool:
    """Return whether any passage holds a word of the query, also one that a filter leaves out."""
    try:
        return searchers.has_word(query, snapshot)
    except RetrievalError:  # a shard is missing: its documents are unknown
        return True


def similar_rows(
    leg: RankingLeg[Any], query: str, hits: Hits, idf: Callable[[Iterable[str]], Mapping[str, float]]
) -> dict[int, float]:
    """Return how similar hits are to a query, by key, above 0; rows that have nothing in common with it are left out.

    The score is counted from that of rows without anything in common, and divided by the greatest score.
    """
    unrelated = leg.unrelated(query)
    if unrelated >= 1:
        return {}
    greatest = leg.greatest(query, idf)
    shares = ((score / greatest - unrelated) / (1 - unrelated) for score in hits.scores.tolist())
    return {key: share for key, share in zip(hits.keys.tolist(), shares, strict=True) if share > 0}


def shares_of(
    items: Sequence[RetrievedItem],
    similarities: Sequence[float],
    *,
    analyzer: Analyzer,
    idf: Mapping[str, float],
) -> list[float]:
    """Return the greater of two shares for each passage: 0 is nothing in common, 1 all words or the same meaning.

    The first is the share of the query's words that the passage holds, each weighed by its idf. The second is how
    similar a leg finds it to the query.

    Args:
        similarities: one for each item, 0 where it is not known.
        idf: of each word of the query.
    """
    total = sum(idf.values()) or 1.0
    shares = []
    for item, similarity in zip(items, similarities, strict=True):
        words = set(analyzer.tokens(item.text))
        for key in ("title", "heading"):
            words.update(analyzer.tokens(str(item.metadata.get(key) or "")))
        share = sum(worth for word, worth in idf.items() if word in words) / total
        shares.append(min(1.0, max(share, similarity)))
    return shares
