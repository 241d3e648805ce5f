"""Merges the hits of several segments into the best k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs.leg import Hits


def no_hits() -> Hits:
    """Return an empty ranking."""
    return Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32))


def best_hits(  # noqa: PLR0917 - what a kernel found
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    tied: bool,
    k: int,
    ids: Callable[[NDArray[np.int64]], Sequence[Any]],
    *,
    ordered: bool = True,
) -> Hits:
    """Return the best `k`, ties by id.

    Args:
        segments, keys, scores: the best k and what ties with the last of them, best first; ties in one segment in order
            of id.
        tied: whether rows of different segments tie.
        ids: names of rows by key; asked only for those.
        ordered: whether the order of ties matters, beyond which of them are among the best k.
    """
    if tied and len(keys) and (ordered or len(keys) > k):
        order = _by_id(scores, segments, keys, ids, 0 if ordered else k)
        segments, keys, scores = segments[order], keys[order], scores[order]
    return Hits(keys[:k], scores[:k], segments[:k]) if len(keys) > k else Hits(keys, scores, segments)


def _by_id(
    scores: NDArray[np.float32],
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    ids: Callable[[NDArray[np.int64]], Sequence[Any]],
    after: int,
) -> NDArray[np.int64]:
    """Return the order that sorts ties by id, in runs of equal score over several segments that end after a place."""
    order = np.arange(len(keys))
    starts = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1])))
    ends = np.append(starts[1:], len(order))
    mixed = np.minimum.reduceat(segments, starts) != np.maximum.reduceat(segments, starts)
    mixed &= ends > after
    stretches = list(zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True))
    if not stretches:
        return order
    names = iter(ids(keys[np.concatenate([order[start:end] for start, end in stretches])]))
    for start, end in stretches:
        name_by_place = dict(zip(range(start, end), names, strict=False))
        order[start:end] = sorted(name_by_place, key=name_by_place.__getitem__)
    return order
