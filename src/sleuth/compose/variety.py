"""Chooses the hits that a list shows: copies give way, and one document has few of the first places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sleuth.text.repeats import Repeats
from sleuth.types import RetrievedItem
from sleuth.types.rankings import documents_of

HEAD: Final = 10
"""The number of first places, in which the hits of one document are limited."""

WINDOW: Final = 100
"""The best hits, among which copies are looked for, and which may move up for a document with too many."""

STEP: Final = HEAD // 2
"""Hits that are read at a time, at least, where others give way."""

FEW: Final = 3 * HEAD
"""Rows that are ranked beyond those asked for: nearly all lists need no more to replace copies."""

ItemsAt = Callable[[range], Sequence[RetrievedItem]]
"""Returns the hits at consecutive places of the ranking, those beyond its end left out."""


def choose(
    first: Sequence[RetrievedItem], k: int, items_at: ItemsAt, *, fold_copies: bool, per_document: int
) -> list[RetrievedItem]:
    """Return the `k` hits to show, each with the ids of its copies in `extra["copies"]`.

    The rule: the first ten are the best hits that are no copies and of which no document has more than `per_document`.
    If there are fewer among the best hundred, the best of the others fill up. All others follow in their order.

    What follows from it: the list for k is a prefix of that for k + 1, apart from the copies that a hit names: a longer
    list may name more, since it looks further. In the list of all hits, only copies are left out.

    Args:
        first: the best `k` hits, or all there are.
        items_at: called only if hits have to move, for a few of the next hits at a time.
        fold_copies: whether hits are left out whose text repeats that of a better one; no text is compared else.
        per_document: hits of one document among the first ten at most, 0 for no limit.
    """
    if not fold_copies:
        documents = {item.id.rpartition("#")[0] or item.id for item in first[:HEAD]} if per_document else ()
        if not per_document or min(len(first), HEAD) - len(documents) < per_document:
            return list(first)  # no document can have too many, as in most lists
    window = WINDOW if fold_copies else 0
    places = range(k + WINDOW)
    if len(first) < k:
        places, items_at = range(len(first)), lambda _: ()
    if k < HEAD and len(_Choice(first, items_at, window).pick(range(k), k, per_document)[0]) == len(first):
        return list(first)  # no hit has to move: spares reading beyond k
    choice = _Choice(first, items_at, window)
    head, waiting = choice.pick(places[:WINDOW], HEAD, per_document)
    missing = HEAD - len(head)
    fillers, _ = choice.pick([*waiting, *places[WINDOW:]], max(k - len(head), missing))
    first_ten = sorted(head + fillers[:missing])
    later_places = fillers[missing:]
    return choice.items([*first_ten, *later_places][:k])


def choose_among(
    items: Sequence[RetrievedItem], k: int, *, fold_copies: bool, per_document: int
) -> list[RetrievedItem]:
    """Apply `choose` to a complete list of hits, best first, instead of one that is read on demand."""
    return choose(
        items[:k],
        k,
        lambda places: items[places.start : places.stop],
        fold_copies=fold_copies,
        per_document=per_document,
    )


class _Choice:
    """The hits of one ranking that were chosen so far."""

    def __init__(self, first: Sequence[RetrievedItem], items_at: ItemsAt, window: int) -> None:
        self._items, self._read, self._window = list(first), items_at, window
        self._documents: list[str] = []
        self._is_whole = False
        self._counts = dict[str, int]()
        self._repeats = Repeats(len(first))
        self._compared: list[int] = []
        self._copies = dict[int, list[str]]()

    def pick(self, places: Sequence[int], count: int, per_document: int = 0) -> tuple[list[int], list[int]]:
        """Choose up to `count` hits that repeat no chosen one; return their places, and those of hits that wait."""
        selection: list[int] = []
        waiting_places: list[int] = []
        items, documents, counts, window = self._items, self._documents, self._counts, self._window
        for at, place in enumerate(places):
            if len(selection) == count:
                return selection, [*waiting_places, *places[at:]]
            if place >= len(items) and not self._read_up_to(place, count - len(selection)):
                break
            if per_document:
                if place >= len(documents):
                    documents += documents_of([item.id for item in items[len(documents) : place + count]])
                document = documents[place]
                if counts.get(document, 0) >= per_document:
                    waiting_places.append(place)
                    continue
            if place < window:  # a hit that repeats a chosen one is named by it
                original = self._repeats.add(items[place].text)
                if original is not None:
                    self._copies.setdefault(self._compared[original], []).append(items[place].id)
                    continue
                self._compared.append(place)
            if per_document:
                counts[document] = counts.get(document, 0) + 1
            selection.append(place)
        return selection, waiting_places

    def _read_up_to(self, place: int, missing: int) -> bool:
        """Read hits up to a place, and so many as are missing and a few more; return whether there is a hit."""
        while place >= len(self._items) and not self._is_whole:
            start = len(self._items)
            places = range(start, start + max(STEP, missing + missing // 4))
            items = self._read(places)
            self._items += items
            self._is_whole = len(items) < len(places)
        return place < len(self._items)

    def items(self, places: Sequence[int]) -> list[RetrievedItem]:
        """Return chosen hits with the ids of their copies."""
        items = self._items
        return [
            items[place].with_extra(copies=self._copies[place]) if place in self._copies else items[place]
            for place in places
        ]
