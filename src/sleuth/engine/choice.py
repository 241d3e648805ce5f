"""Chooses the passages that a list shows, and leaves out what has nothing in common with the query.

The passages of a ranking are read when they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from sleuth.arguments import MOST_K
from sleuth.compose.variety import WINDOW, choose, choose_among
from sleuth.engine.expansion import grow
from sleuth.engine.selection import unknown_values
from sleuth.errors import RetrievalError
from sleuth.filters import to_text
from sleuth.filters.tree import in_any_case
from sleuth.remote import check_cancelled
from sleuth.text.analyzers import analyzer_of

if TYPE_CHECKING:
    from sleuth.compose.arrange import Arrangement
    from sleuth.engine.plan import SearchPlan
    from sleuth.engine.ranking import RankedRows
    from sleuth.filters import Filter
    from sleuth.store import RankingLeg
    from sleuth.text.analyzers import Analyzer
    from sleuth.types import RetrievedItem


def choose_items(plan: SearchPlan, rows: RankedRows) -> list[RetrievedItem]:
    """Return the passages to show, or those that a model orders again; notes of the plan say what was left out.

    Args:
        rows: the first rows of the ranking.
    """
    candidates = _RankedPassages(plan, rows)
    request, arrangement = plan.request, None if plan.is_reranked else plan.request.arrangement
    ordered_items = [] if arrangement is None else candidates.arranged(arrangement)
    count = plan.depth if plan.is_reranked else request.k
    needed = max(request.k, plan.reranking.depth) if plan.is_reranked else request.k
    while True:
        if arrangement is not None:
            hits = choose_among(ordered_items, count, **request.variety())
        elif plan.is_reranked or rows.is_listing:
            hits = candidates.read(range(count))
        else:
            hits = choose(candidates.read(range(count)), count, candidates.read, **request.variety())
        items = candidates.grown(hits)
        if len(items) >= needed or len(hits) < count or count >= MOST_K:
            break
        count = min(2 * count, MOST_K)  # a grown passage holds others: the next ones take their places
    if not items and plan.tree is not None:
        plan.notes.extend(_notes_on_values(plan, plan.tree))
    return items


class _RankedPassages:
    """The rows of one ranking: the best of them, as many as were needed so far."""

    def __init__(self, plan: SearchPlan, rows: RankedRows) -> None:
        self._plan, self._request, self._snapshot = plan, plan.request, plan.version.snapshot
        self._all, self._rows = rows, in_common(plan, rows)
        self._depth = MOST_K + WINDOW if plan.is_bounded else plan.rows
        self._keys: dict[str, int] = {}
        self._grown: dict[str, tuple[str, dict[str, int], list[str]]] = {}
        self._arrangement: Arrangement | None = None

    def arranged(self, arrangement: Arrangement) -> list[RetrievedItem]:
        """Return all passages of the ranking as an arrangement orders them."""
        rows = self._rows
        items = self._snapshot.items(rows.keys, rows.scores)
        check_cancelled()  # they may be many
        self._plan.notes.extend(arrangement.notes_on_missing_keys(items))
        self._keys = {item.id: key for key, item in zip(rows.keys, items, strict=True)}
        self._arrangement = arrangement
        return arrangement.order(items)

    def read(self, places: range) -> list[RetrievedItem]:
        """Return the passages at some places of the ranking."""
        if places.stop > self._depth and len(self._all.keys) >= self._depth:
            self._depth = places.stop + WINDOW
            with suppress(RetrievalError):  # after the deadline, the candidates so far are ranked
                self._all = self._all.deeper(self._depth)
                self._rows = in_common(self._plan, self._all)
        rows = self._rows
        keys = rows.keys[places.start : places.stop]
        items = self._snapshot.items(keys, rows.scores[places.start : places.stop])
        if self._request.explain:
            for place, item in zip(places, items, strict=False):
                item.extra["explanation"] = rows.explain(place)
        if self._request.expand is not None:
            self._keys.update((item.id, key) for key, item in zip(keys, items, strict=True))
        return items

    def grown(self, items: list[RetrievedItem]) -> list[RetrievedItem]:
        """Return passages as the request asks for them: explained, with what stands around them."""
        if self._request.explain:
            if self._arrangement is not None:
                places = {key: place for place, key in enumerate(self._rows.keys)}
                for item in items:
                    explanation = self._rows.explain(places[self._keys[item.id]])
                    item.extra["explanation"] = self._arrangement.explained(item, explanation)
            is_lookup = self._plan.query.is_lookup  # all that has the values is what it asks for
            shares = [1.0] * len(items) if is_lookup else shares_explained(self._plan, items)
            for item, share in zip(items, shares, strict=True):
                item.extra["share"] = share
        if self._request.expand is None:
            return items
        return grow(self._snapshot, self._keys, items, self._request.expand, self._grown)


def _notes_on_values(plan: SearchPlan, tree: Filter) -> list[str]:
    """Say that a filter which matches no passage would in another case, or else which of its values none has."""
    loose, select = in_any_case(tree), partial(plan.version.searchers.select, plan.version.snapshot)
    try:
        if select(tree).count().passages:
            return []
        count = 0 if loose == tree else select(loose).count().passages
        if not count:
            return unknown_values(tree, select)
    except RetrievalError:  # a shard is missing: its documents are unknown
        return []
    return [f"no passage matches {to_text(tree)}; in another case {count:,} would: {to_text(loose)}"]


def in_common(plan: SearchPlan, rows: RankedRows) -> RankedRows:
    """Leave out what has nothing in common with the query, or less than its `min_score`.

    Without a `min_score` all rows are left out where no passage holds a word of the query, not even one that a filter
    leaves out, and no leg knows its words; otherwise none. A query for values of metadata alone keeps all.
    """
    if plan.query.is_lookup:
        return rows
    min_score, legs = plan.request.min_score, plan.version.searchers.legs
    if min_score is None:
        for name, hits in rows.hits.items():
            if legs[name].is_certain and len(hits.keys):
                return rows
        return rows if _is_known(plan, rows) else rows._replace(keys=[], scores=[])
    similarities, certain_keys = _evidence(plan, rows)
    if min_score or not any(legs[name].is_certain for name in rows.hits):
        items = plan.version.snapshot.items(rows.keys, rows.scores)
        shares = shares_of(plan, items, [similarities.get(key, 0.0) for key in rows.keys])
        places = [place for place, share in enumerate(shares) if share >= min_score and share > 0]
    else:
        related = similarities.keys() | certain_keys
        places = [place for place, key in enumerate(rows.keys) if key in related]
    return rows._replace(
        keys=[rows.keys[place] for place in places],
        scores=[rows.scores[place] for place in places],
        explain=lambda i: rows.explain(places[i]),
    )


def _is_known(plan: SearchPlan, rows: RankedRows) -> bool:
    """Return whether a passage that a filter leaves out holds a word of the query, or a leg knows its words."""
    searchers, query = plan.version.searchers, plan.query.text
    legs = searchers.legs
    try:
        if searchers.has_word(query, plan.version.snapshot):
            return True
    except RetrievalError:  # a shard is missing: its documents are unknown
        return True
    return any(len(hits.keys) and legs[name].unrelated(query) < 1 for name, hits in rows.hits.items())


def _evidence(plan: SearchPlan, rows: RankedRows) -> tuple[dict[int, float], set[int]]:
    """Return how similar legs find rows to the query, and the rows of legs that are certain, by key."""
    legs, query = plan.version.searchers.legs, plan.query.text
    similarities: dict[int, float] = {}
    certain_keys: set[int] = set()
    pooled = {key for hits in rows.hits.values() for key in hits.keys.tolist()}
    # A pooled row does not depend on k.
    for pools, own_keys in ((rows.hits, set[int]()), (rows.further, pooled)):
        for name, hits in pools.items():
            if legs[name].is_certain:
                certain_keys.update(hits.keys.tolist())
                continue
            shares = similarities_of(legs[name], query, hits.scores.tolist(), plan.idf)
            for key, similarity in zip(hits.keys.tolist(), shares, strict=True):
                if similarity > 0 and key not in own_keys:
                    similarities[key] = max(similarity, similarities.get(key, 0.0))
    return similarities, certain_keys


def shares_explained(plan: SearchPlan, items: Sequence[RetrievedItem]) -> list[float]:
    """Return the shares of items on the scale of `min_score`, from the scores of the legs in their explanations."""
    legs, query = plan.version.searchers.legs, plan.query.text
    scores = [dict(item.explanation.scores_of(legs)) if item.explanation else {} for item in items]
    similarities = [0.0] * len(items)
    for name in {name for row in scores for name in row if not legs[name].is_certain}:
        of_leg = similarities_of(legs[name], query, [row.get(name, 0.0) for row in scores], plan.idf)
        similarities = list(map(max, similarities, of_leg))
    return shares_of(plan, items, similarities)


def similarities_of(
    leg: RankingLeg[Any],
    query: str,
    scores: Sequence[float],
    idf: Callable[[Iterable[str]], Mapping[str, float]],
) -> list[float]:
    """Return how similar rows with these scores of a leg are to a query: 0 has nothing in common with it.

    The score is counted from that of rows without anything in common, and divided by the greatest score.
    """
    unrelated = leg.unrelated(query)
    if unrelated >= 1:
        return [0.0] * len(scores)
    greatest = leg.greatest(query, idf)
    return [max(0.0, (score / greatest - unrelated) / (1 - unrelated)) for score in scores]


def shares_of(plan: SearchPlan, items: Sequence[RetrievedItem], similarities: Sequence[float]) -> list[float]:
    """Return the greater of two shares for each passage: 0 is nothing in common, 1 all words or the same meaning.

    The first is the share of the query's words that the passage holds, or another word in their place. Both are read in
    the language of the passage, and a word is weighed by its idf. The second is how similar a leg finds it to a query.

    Args:
        similarities: one for each item, 0 where it is not known.
    """
    settings, wider = plan.view.backend.settings, plan.version.wider

    @cache
    def words_of_query(analyzer: Analyzer) -> tuple[Mapping[str, float], Mapping[str, set[str]]]:
        """Return the idf of each word, and the words that may stand in its place."""
        idf = plan.idf(dict.fromkeys(*analyzer.words_of_each([plan.query.text])))
        forms = {word: {word} for word in idf}
        for asked_word, additions in wider.added.items() if wider else ():
            for word in forms.keys() & set(analyzer.tokens(asked_word)):
                forms[word].update(addition.token for addition in additions)
        return idf, forms

    shares = []
    for item, similarity in zip(items, similarities, strict=True):
        language = item.metadata.get("language") if settings.tells_languages else None
        analyzer = analyzer_of(language, settings.analyzer)
        idf, forms = words_of_query(analyzer)
        texts = (item.text, *(str(item.metadata.get(key) or "") for key in ("title", "heading")))
        words = {word for text in texts for word in analyzer.tokens(text)}
        share = sum(worth for word, worth in idf.items() if words & forms[word]) / (sum(idf.values()) or 1.0)
        shares.append(min(1.0, max(share, similarity)))
    return shares
