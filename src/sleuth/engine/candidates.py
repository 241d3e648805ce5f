"""The passages of a ranking, read when they are looked at, and the choice of those that a list shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sleuth.compose.variety import WINDOW, choose, choose_among
from sleuth.engine.expansion import grow
from sleuth.engine.search import read_items
from sleuth.errors import RetrievalError

if TYPE_CHECKING:
    from sleuth.compose.arrange import Arrangement
    from sleuth.engine.ranking import RankedRows
    from sleuth.engine.request import SearchRequest
    from sleuth.store import IndexSnapshot
    from sleuth.types import RetrievedItem


class Candidates:
    """The rows of one ranking.

    Attributes:
        ranked: the best of them, of as many as were needed so far.
        notes: of their arrangement, for the author of the query.
    """

    def __init__(
        self,
        rows: RankedRows,
        depth: int,
        admit: Callable[[RankedRows], RankedRows],
        *,
        snapshot: IndexSnapshot,
        request: SearchRequest,
    ) -> None:
        """Candidates from the best rows of a ranking.

        Args:
            rows: the best `depth` rows, or all there are.
            admit: leaves out rows of a ranking.
        """
        self.ranked = admit(rows)
        self._all, self._depth, self._admit = rows, depth, admit
        self._snapshot, self._request = snapshot, request
        self._keys: dict[str, int] = {}
        self.notes: list[str] = []

    def best(self, k: int) -> list[RetrievedItem]:
        """Return the best `k` passages, grown as the request says."""
        return self._grown(self._read(range(k)))

    def varied(self, k: int) -> list[RetrievedItem]:
        """Return the `k` passages to show, arranged and grown as the request says."""
        if self._request.arrangement is not None:
            return self._arranged(k, self._request.arrangement)
        return self._grown(choose(self._read(range(k)), k, self._read, **self._request.variety()))

    def _arranged(self, k: int, arrangement: Arrangement) -> list[RetrievedItem]:
        rows = self.ranked
        every = read_items(self._snapshot, rows.keys, rows.scores)
        self.notes = arrangement.notes_on_missing_keys(every)
        items = choose_among(arrangement.order(every), k, **self._request.variety())
        places = {item.id: place for place, item in enumerate(every)}
        if self._request.explain:
            for item in items:
                item.extra["explanation"] = arrangement.explained(item, rows.explain(places[item.id]))
        if self._request.expand is not None:
            self._keys.update((item.id, rows.keys[places[item.id]]) for item in items)
        return self._grown(items)

    def _read(self, places: range) -> list[RetrievedItem]:
        if places.stop > self._depth and len(self._all.keys) >= self._depth:
            self._deepen(places.stop + WINDOW)
        rows = self.ranked
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
            self.ranked = self._admit(self._all)
        except RetrievalError:  # after the deadline, the candidates so far are ranked
            pass
        self._depth = depth

    def _grown(self, items: list[RetrievedItem]) -> list[RetrievedItem]:
        if self._request.expand is None:
            return items
        rows = self._snapshot.rows(self._keys[item.id] for item in items)
        return grow(self._snapshot, rows, items, self._request.expand)
