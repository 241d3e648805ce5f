"""Which definition contains a byte, told by the spans of definitions alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Scopes:
    """The borders of nested spans, in order; after each, the innermost span that is open."""

    def __init__(self, starts: Sequence[int], ends: Sequence[int], parents: Sequence[int]) -> None:
        """Take spans in order of start, containers first.

        Args:
            starts, ends: bytes of each span; `ends` are exclusive.
            parents: position of the span around each, -1 for none.
        """
        count = len(starts)
        numbers = np.arange(count)
        places = np.array([*starts, *ends], np.int64)
        is_start = np.repeat([1, 0], count)  # a span that ends where another starts ends first
        inner_first = np.concatenate([numbers, -numbers])
        order = np.lexsort((inner_first, is_start, places))
        self._borders = places[order]
        self._open = np.concatenate([[-1], np.array([*numbers, *parents], np.int64)[order]])

    def at(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the innermost span around each byte, -1 for none; shape (n,)."""
        return self._open[np.searchsorted(self._borders, places, "right")]
