"""Chooses the passages that a list shows, and leaves out what has nothing in common with the query.

The passages of a ranking are read when they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from sleuth.arguments import MOST_K
from sleuth.compose.variety import WINDOW, choose, choose_among
from sleuth.engine.expansion import grow
from sleuth.engine.selection import unknown_values
from sleuth.errors import RetrievalError
from sleuth.filters import to_text
from sleuth.filters.tree import in_any_case
from sleuth.remote import check_cancelled

if TYPE_CHECKING:
    from sleuth.compose.arrange import Arrangement
    from sleuth.engine.plan import SearchPlan
    from sleuth.engine.ranking import RankedRows
    from sleuth.filters import Filter
    from sleuth.store import RankingLeg
    from sleuth.types import RetrievedItem


def choose_items(plan: SearchPlan, rows: RankedRows) -> list[RetrievedItem]:
    """Return the passages to show, or those that a model orders again; notes of the plan say what was left out.

    Args:
        rows: the first rows of the ranking.
    """
    candidates = _RankedPassages(plan, rows)
    read, variety = candidates.read, plan.request.variety()
    if plan.is_reranked:
        items = candidates.grown(read(range(plan.depth)))
    elif plan.request.arrangement is not None:
        items = candidates.arranged(plan.request.arrangement)
    elif rows.is_listing:
        items = candidates.filled(lambda k: read(range(k)))
    else:
        items = candidates.filled(lambda k: choose(read(range(k)), k, read, **variety))
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

    def arranged(self, arrangement: Arrangement) -> list[RetrievedItem]:
        """Return the passages to show, arranged and grown as the request says."""
        rows = self._rows
        ranked_items = self._snapshot.items(rows.keys, rows.scores)
        check_cancelled()  # they may be many
        self._plan.notes.extend(arrangement.notes_on_missing_keys(ranked_items))
        ordered_items = arrangement.order(ranked_items)
        places = {item.id: place for place, item in enumerate(ranked_items)}

        def choose_first(k: int) -> list[RetrievedItem]:
            items = choose_among(ordered_items, k, **self._request.variety())
            if self._request.explain:
                for item in items:
                    item.extra["explanation"] = arrangement.explained(item, rows.explain(places[item.id]))
            if self._request.expand is not None:
                self._keys.update((item.id, rows.keys[places[item.id]]) for item in items)
            return items

        return self.filled(choose_first)

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

    def filled(self, choose_first: Callable[[int], list[RetrievedItem]]) -> list[RetrievedItem]:
        """Return as many passages as the request asks for, grown.

        Where a grown passage holds others, the next ones of the ranking take their places.

        Args:
            choose_first: returns the best hits, as many as it is told.
        """
        count = k = self._request.k
        while True:
            items = choose_first(count)
            grown_items = self.grown(items)
            if len(grown_items) >= k or len(items) < count or count >= MOST_K:
                return grown_items[:k]
            count = min(2 * count, MOST_K)

    def grown(self, items: list[RetrievedItem]) -> list[RetrievedItem]:
        """Return passages as the request asks for them: explained, with what stands around them."""
        if self._request.explain:
            is_lookup = self._plan.query.is_lookup  # all that has the values is what it asks for
            shares = [1.0] * len(items) if is_lookup else shares_explained(self._plan, items)
            for item, share in zip(items, shares, strict=True):
                item.extra["share"] = share
        if self._request.expand is None:
            return items
        rows = self._snapshot.rows(self._keys[item.id] for item in items)
        return grow(self._snapshot, rows, items, self._request.expand)


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
    searchers, snapshot = plan.version.searchers, plan.version.snapshot
    legs, query, min_score = searchers.legs, plan.query.text, plan.request.min_score
    certain_counts = [len(hits.keys) for name, hits in rows.hits.items() if legs[name].is_certain]
    if min_score is None:
        try:
            has_word = any(certain_counts) or searchers.has_word(query, snapshot)
        except RetrievalError:  # a shard is missing: its documents are unknown
            return rows
        asked_legs = (name for name, hits in rows.hits.items() if len(hits.keys))
        is_known = has_word or any(legs[name].unrelated(query) < 1 for name in asked_legs)
        return rows if is_known else rows._replace(keys=[], scores=[])
    similarities: dict[int, float] = {}
    certain_keys: set[int] = set()
    pooled = {key for hits in rows.hits.values() for key in hits.keys.tolist()}
    # A pooled row does not depend on k.
    for pools, own_keys in ((rows.hits, set[int]()), (rows.further, pooled)):
        for name, hits in pools.items():
            if legs[name].is_certain:
                certain_keys.update(hits.keys.tolist())
                continue
            shares_of_hits = similarities_of(legs[name], query, hits.scores.tolist(), plan.idf)
            for key, similarity in zip(hits.keys.tolist(), shares_of_hits, strict=True):
                if similarity > 0 and key not in own_keys:
                    similarities[key] = max(similarity, similarities.get(key, 0.0))
    if min_score or not certain_counts:
        shares = shares_of(
            plan,
            snapshot.items(rows.keys, rows.scores),
            [similarities.get(key, 0.0) for key in rows.keys],
        )
        places = [place for place, share in enumerate(shares) if share >= min_score and share > 0]
    else:
        related = similarities.keys() | certain_keys
        places = [place for place, key in enumerate(rows.keys) if key in related]
    return rows._replace(
        keys=[rows.keys[place] for place in places],
        scores=[rows.scores[place] for place in places],
        explain=lambda i: rows.explain(places[i]),
    )


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

    The first is the share of the query's words that the passage holds, or another word in their place, each weighed by
    its idf. The second is how similar a leg finds it to the query.

    Args:
        similarities: one for each item, 0 where it is not known.
    """
    analyzer, wider = plan.version.analyzer, plan.version.wider
    idf = plan.idf(dict.fromkeys(*analyzer.words_of_each([plan.query.text])))
    total = sum(idf.values()) or 1.0
    forms = {word: {word} for word in idf}
    for asked_word, additions in wider.added.items() if wider else ():
        others = analyzer.tokens(" ".join(addition.label for addition in additions))
        for word in forms.keys() & set(analyzer.tokens(asked_word)):
            forms[word].update(others)
    shares = []
    for item, similarity in zip(items, similarities, strict=True):
        texts = (item.text, *(str(item.metadata.get(key) or "") for key in ("title", "heading")))
        words = {word for text in texts for word in analyzer.tokens(text)}
        share = sum(worth for word, worth in idf.items() if words & forms[word]) / total
        shares.append(min(1.0, max(share, similarity)))
    return shares
