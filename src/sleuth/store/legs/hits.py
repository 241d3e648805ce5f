"""What searchers of segments share: which rows may answer, where rows are, and the best k of several segments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.store.legs.leg import Bitmap, Hits, SegmentView


def rows_allowed(view: SegmentView, allowed: Bitmap | None) -> Bitmap | None:
    """Return the live rows of a segment that are allowed; None for all.

    Raises:
        ArgumentError: the bitmap does not fit the segment.
    """
    if allowed is None:
        return view.live
    words = (len(view) + 63) // 64
    if len(allowed) != words:
        raise ArgumentError(f"allowed must hold {words} words for {len(view)} rows, got {len(allowed)}")
    return allowed if view.live is None else allowed & view.live


def locate(view: SegmentView, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """(places, ordinals): which of `keys` are live rows of the segment, and which rows those are."""
    if not len(view):
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    at = np.minimum(np.searchsorted(view.keys, keys), len(view) - 1)
    is_held = view.keys[at] == keys
    if view.live is not None:
        words = view.live[at >> 6] >> (at & 63).astype(np.uint64)
        is_held &= (words & np.uint64(1)).astype(bool)
    places = np.flatnonzero(is_held)
    return places, at[places].astype(np.uint32)


def no_hits() -> Hits:
    """Return an empty ranking."""
    return Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32))


def best_hits(  # noqa: PLR0917 - what a kernel found
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    tied: bool,
    k: int,
    ids: Callable[[NDArray[np.int64]], Sequence[Any]] | None,
    *,
    ordered: bool = True,
) -> Hits:
    """Return the best `k`, ties by id.

    Args:
        segments, keys, scores: the best k and what ties with the last of them, best first; ties in one segment in order
            of id.
        tied: whether rows of different segments tie.
        ids: names of rows by key; asked only for those. None for the order of keys.
        ordered: whether the order of ties matters, beyond which of them are among the best k.
    """
    if tied and len(keys) and (ordered or len(keys) > k):
        names_of = ids or (lambda keys: [f"{key:020d}" for key in keys.tolist()])
        order = _by_id(scores, segments, keys, names_of, 0 if ordered else k)
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
