"""Chooses the hits that a list shows: copies give way, and one document has few of the first places."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from sleuth.text import Repeats
from sleuth.types import RetrievedItem, document_of

HEAD: Final = 10
"""Places of which one document has few."""

WINDOW: Final = 100
"""The best hits, among which copies are looked for, and which may move up for a document with too many."""

FEW: Final = 3 * HEAD
"""The best hits that are looked at before others."""

IdsOf = Callable[[int], Sequence[str]]
"""Returns the ids of the best hits, of as many as asked for or of all there are."""

ItemsAt = Callable[[Sequence[int]], Sequence[RetrievedItem]]
"""Returns the hits at places of the ranking, those beyond its end left out."""


def choose(
    first: Sequence[RetrievedItem], k: int, ids: IdsOf, read: ItemsAt, *, all_copies: bool, per_document: int
) -> list[RetrievedItem]:
    """Return the `k` hits to show, each with the ids of its copies in `extra["copies"]`.

    The first ten are the best hits that are no copies and of which no document has more than `per_document`. If there
    are fewer among the best hundred, the best of the others fill up. All others follow in their order. So a
    list for k begins the one for k + 1, and nothing but copies is missing in a long one.

    Args:
        first: the best `k` hits.
        ids, read: called only where hits have to move.
        all_copies: whether hits whose text repeats that of a better one are hits like any other.
        per_document: hits of one document among the first ten at most, 0 for no limit.
    """
    if not _has_surplus(first[:HEAD], per_document) and (all_copies or not _has_copies(first[:WINDOW])):
        return list(first)
    window = 0 if all_copies else WINDOW
    if k <= HEAD:  # a few of the next hits are enough for nearly all rankings, and one call reads them
        first = [*first, *read(range(len(first), k + HEAD // 2))]
    for is_last in (False, True):
        names = ids(k + WINDOW) if is_last else [item.id for item in first]
        choice = _Choice(names, first, read, window)
        head, rest = choice.pick(range(min(WINDOW, len(names))), HEAD, per_document)
        if len(head) == HEAD >= k:
            break
    more, rest = choice.pick(rest, HEAD - len(head))
    head = sorted(head + more)
    tail, _ = choice.pick([*rest, *range(WINDOW, len(names))], k - len(head))
    return choice.items([*head, *tail][:k])


def choose_among(
    items: Sequence[RetrievedItem], k: int, *, all_copies: bool, per_document: int
) -> list[RetrievedItem]:
    """Return the `k` of these hits to show, best first as they are; see `choose`."""
    return choose(
        items[:k],
        k,
        lambda most: [item.id for item in items[:most]],
        lambda places: [items[place] for place in places if place < len(items)],
        all_copies=all_copies,
        per_document=per_document,
    )


def _has_surplus(items: Sequence[RetrievedItem], per_document: int) -> bool:
    if not 0 < per_document < len(items):
        return False
    return max(Counter(item.document_id for item in items).values()) > per_document


def _has_copies(items: Sequence[RetrievedItem]) -> bool:
    repeats = Repeats()
    return any(repeats.add(item.text) is not None for item in items)


class _Choice:
    """The hits of one ranking that were chosen so far."""

    def __init__(
        self, names: Sequence[str], first: Sequence[RetrievedItem], read: ItemsAt, window: int
    ) -> None:
        self._documents = list(map(document_of, names))
        self._first, self._read, self._window = first, read, window
        self._counts = Counter[str]()
        self._repeats = Repeats()
        self._compared: list[int] = []
        self._items: dict[int, RetrievedItem] = {}
        self._copies = defaultdict[int, list[str]](list)

    def pick(self, places: Sequence[int], count: int, per_document: int = 0) -> tuple[list[int], list[int]]:
        """Choose up to `count` hits that repeat no chosen one; return their places, and those of hits that wait."""
        chosen: list[int] = []
        others: list[int] = []
        next_place = 0
        while len(chosen) < count and next_place < len(places):
            batch: list[int] = []
            while len(chosen) + len(batch) < count and next_place < len(places):
                place = places[next_place]
                next_place += 1
                document = self._documents[place]
                if per_document and self._counts[document] >= per_document:
                    others.append(place)
                else:
                    self._counts[document] += 1
                    batch.append(place)
            unread = [place for place in batch if place >= len(self._first)]
            items = dict(zip(unread, self._read(unread) if unread else (), strict=True))
            for place in batch:
                if self._is_new(place, items[place] if place in items else self._first[place]):
                    chosen.append(place)
                else:
                    self._counts[self._documents[place]] -= 1
        return chosen, [*others, *places[next_place:]]

    def _is_new(self, place: int, item: RetrievedItem) -> bool:
        """Choose a hit unless it is a copy; name it in the hit that it repeats otherwise."""
        if place < self._window:
            original = self._repeats.add(item.text)
            if original is not None:
                self._copies[self._compared[original]].append(item.id)
                return False
            self._compared.append(place)
        self._items[place] = item
        return True

    def items(self, places: Sequence[int]) -> list[RetrievedItem]:
        """Return chosen hits with the ids of their copies."""
        return [
            item.model_copy(update={"extra": {**item.extra, "copies": copies}})
            if (copies := self._copies.get(place))
            else item
            for place in places
            for item in (self._items[place],)
        ]
