"""The passages of a ranking, read when they are looked at, and the choice of those that a list shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sleuth.compose import choose
from sleuth.engine.expansion import grow
from sleuth.engine.search import read_items
from sleuth.errors import RetrievalError

if TYPE_CHECKING:
    from sleuth.engine.ranking import RankedRows
    from sleuth.engine.request import SearchRequest
    from sleuth.store import IndexSnapshot
    from sleuth.types import RetrievedItem


class Candidates:
    """The rows of one ranking.

    Attributes:
        ranked: the best of them, of as many as were needed so far.
    """

    def __init__(
        self,
        ranked: RankedRows,
        depth: int,
        admit: Callable[[RankedRows], RankedRows],
        *,
        snapshot: IndexSnapshot,
        request: SearchRequest,
    ) -> None:
        """Candidates from the best rows of a ranking.

        Args:
            ranked: the best `depth` rows, or all there are.
            admit: leaves out rows of a ranking.
        """
        self.ranked = admit(ranked)
        self._all, self._depth, self._admit = ranked, depth, admit
        self._snapshot, self._request = snapshot, request
        self._keys: dict[str, int] = {}

    def best(self, k: int) -> list[RetrievedItem]:
        """Return the best `k` passages, grown as the request says."""
        return self._grown(self._first(k))

    def varied(self, k: int) -> list[RetrievedItem]:
        """Return the `k` passages to show, grown as the request says."""
        return self._grown(choose(self._first(k), k, self._ids, self._read, **self._request.variety()))

    def _ids(self, most: int) -> list[str]:
        if most > self._depth and len(self._all.keys) >= self._depth:
            try:
                self._all, self._depth = self._all.deeper(most), most
            except RetrievalError:  # the deadline has passed: what is there is ranked
                self._depth = most
            self.ranked = self._admit(self._all)
        return self._snapshot.ids(self.ranked.keys[:most])

    def _first(self, k: int) -> list[RetrievedItem]:
        return self._read(range(min(k, len(self.ranked.keys))))

    def _read(self, places: Sequence[int]) -> list[RetrievedItem]:
        ranked = self.ranked
        places = [place for place in places if place < len(ranked.keys)]
        keys = [ranked.keys[place] for place in places]
        items = read_items(self._snapshot, keys, [ranked.scores[place] for place in places])
        for place, key, item in zip(places, keys, items, strict=True):
            if self._request.explain:
                item.extra["explanation"] = ranked.explain(place)
            self._keys[item.id] = key
        return items

    def _grown(self, items: list[RetrievedItem]) -> list[RetrievedItem]:
        if self._request.expand is None:
            return items
        rows = self._snapshot.rows(self._keys[item.id] for item in items)
        return grow(self._snapshot, rows, items, self._request.expand)
