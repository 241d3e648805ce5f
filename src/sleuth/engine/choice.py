"""Chooses the passages that a list shows; those of a ranking are read when they are looked at."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sleuth.arguments import MOST_K
from sleuth.compose.variety import WINDOW, choose, choose_among
from sleuth.engine.common import in_common, shares_explained
from sleuth.engine.expansion import grow
from sleuth.engine.search import read_items
from sleuth.engine.selection import unknown_values
from sleuth.errors import RetrievalError
from sleuth.filters import to_text
from sleuth.filters.tree import in_any_case

if TYPE_CHECKING:
    from sleuth.compose.arrange import Arrangement
    from sleuth.engine.plan import SearchPlan
    from sleuth.engine.ranking import RankedRows
    from sleuth.filters import Filter
    from sleuth.types import RetrievedItem


def choose_items(plan: SearchPlan, rows: RankedRows) -> list[RetrievedItem]:
    """Return the passages to show, or those that a model orders again; notes of the plan say what was left out.

    Args:
        rows: the first rows of the ranking.
    """
    candidates = _RankedPassages(plan, rows)
    if plan.is_reranked or (rows.is_listing and plan.request.arrangement is None):
        items = candidates.best(plan.depth)
    else:
        items = candidates.varied(plan.request.k)
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

    def best(self, k: int) -> list[RetrievedItem]:
        """Return the best `k` passages, grown as the request says."""
        return self._grown(self._read(range(k)))

    def varied(self, k: int) -> list[RetrievedItem]:
        """Return the `k` passages to show, arranged and grown as the request says."""
        if self._request.arrangement is not None:
            return self._arranged(k, self._request.arrangement)
        return self._grown(choose(self._read(range(k)), k, self._read, **self._request.variety()))

    def _arranged(self, k: int, arrangement: Arrangement) -> list[RetrievedItem]:
        rows = self._rows
        ranked_items = read_items(self._snapshot, rows.keys, rows.scores)
        self._plan.notes.extend(arrangement.notes_on_missing_keys(ranked_items))
        items = choose_among(arrangement.order(ranked_items), k, **self._request.variety())
        places = {item.id: place for place, item in enumerate(ranked_items)}
        if self._request.explain:
            for item in items:
                item.extra["explanation"] = arrangement.explained(item, rows.explain(places[item.id]))
        if self._request.expand is not None:
            self._keys.update((item.id, rows.keys[places[item.id]]) for item in items)
        return self._grown(items)

    def _read(self, places: range) -> list[RetrievedItem]:
        if places.stop > self._depth and len(self._all.keys) >= self._depth:
            self._deepen(places.stop + WINDOW)
        rows = self._rows
        keys = rows.keys[places.start : places.stop]
        items = read_items(self._snapshot, keys, rows.scores[places.start : places.stop])
        if self._request.explain:
            for place, item in zip(places, items, strict=False):
                item.extra["explanation"] = rows.explain(place)
        if self._request.expand is not None:
            self._keys.update((item.id, key) for key, item in zip(keys, items, strict=True))
        return items

    def _deepen(self, depth: int) -> None:
        try:
            self._all = self._all.deeper(depth)
            self._rows = in_common(self._plan, self._all)
        except RetrievalError:  # after the deadline, the candidates so far are ranked
            pass
        self._depth = depth

    def _grown(self, items: list[RetrievedItem]) -> list[RetrievedItem]:
        if self._request.explain and not self._plan.query.is_lookup:
            for item, share in zip(items, shares_explained(self._plan, items), strict=True):
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
