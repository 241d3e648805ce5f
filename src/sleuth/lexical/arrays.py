"""Arrays of a field as segments keep them, and those of its dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.lexical.postings import GONE, make_slots

Arrays = dict[str, NDArray[Any]]


def dictionary(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> Arrays:
    """Return the arrays of these terms, end to end, and where each begins and ends."""
    check_size(int(starts[-1]))
    short = starts.astype(np.uint32)
    return {"term_bytes": data, "term_starts": short, "slots": make_slots(data, short)}


def check_size(size: int) -> None:
    """Raises ArgumentError where the terms of a segment take too many bytes."""
    if size >= GONE:
        raise ArgumentError(f"a segment must hold less than {GONE} bytes of distinct terms, got {size}")
