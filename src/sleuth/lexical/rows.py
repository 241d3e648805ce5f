"""The rows of several segments, as the kernels of block-max search take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.lexical import blockmax
from sleuth.store import Hits, LegRequest, SegmentView, best_hits
from sleuth.store.legs.hits import locate, rows_allowed

if TYPE_CHECKING:
    from sleuth.lexical.postings import FieldPostings
    from sleuth.lexical.terms import Weighed


class TermCount(NamedTuple):
    """How often a row holds a term.

    Attributes:
        segment: index of the segment of the row.
        row: its ordinal there.
        tf: 1 and more.
    """

    segment: int
    row: int
    tf: int


class SegmentRows:
    """The rows of one version of an index. Immutable; safe to share between threads.

    Args:
        segments: in order of key.
    """

    def __init__(self, segments: Sequence[SegmentView]) -> None:
        self._segments = segments
        self._lives = [view.live for view in segments]
        by_size = sorted(range(len(segments)), key=lambda i: -len(segments[i]))
        self._parts: list[blockmax.Segment] = [(i, segments[i].keys, segments[i].tie_ranks) for i in by_size]

    def search(self, terms: list[Weighed], request: LegRequest) -> Hits:
        """Return the `request.k` best rows among those that are live and allowed.

        Args:
            terms: heaviest first.

        Raises:
            ArgumentError: the bitmaps of the request do not fit the segments.
        """
        masks = self._lives
        if request.allowed is not None:
            if len(request.allowed) != len(masks):
                raise ArgumentError(
                    f"allowed must hold one bitmap per segment, {len(masks)}, got {len(request.allowed)}"
                )
            masks = list(map(rows_allowed, self._segments, request.allowed))
        hits = blockmax.search(terms, self._parts, request.k, masks)
        return best_hits(*hits, request.k, request.ids, ordered=request.ordered)

    def scores(self, terms: list[Weighed], keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the scores of the given rows, shape (len(keys),); 0 where no term matches."""
        out = np.zeros(len(keys), np.float32)
        for i, view in enumerate(self._segments):
            places, ordinals = locate(view, keys)
            if len(places):
                out[places] = blockmax.score(terms, i, ordinals)
        return out

    def terms_in_row(
        self, terms: list[Weighed], key: int, postings: Sequence[Mapping[str, FieldPostings]]
    ) -> Iterator[tuple[Weighed, TermCount]]:
        """Yield each of the terms that the row with this key holds, with how often.

        Args:
            key: of a row. At most one segment holds it.
            postings: of each segment, by field.
        """
        for i, view in enumerate(self._segments):
            _, ordinals = locate(view, np.array([key], np.int64))
            for row in ordinals.tolist():
                for term in terms:
                    _, field, *_, occurrences = term
                    number = occurrences.numbers[i]
                    tf = postings[i][field].count(number, row) if number >= 0 else 0
                    if tf:
                        yield term, TermCount(i, row, tf)
