"""Which hits of several segments are the best k?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs import Hits


def no_hits() -> Hits:
    """Nothing found."""
    return Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32))


def merge_hits(parts: Sequence[Hits], k: int, ids: Callable[[NDArray[np.int64]], Sequence[str]]) -> Hits:
    """The best `k` of all parts, ties by id.

    Each part holds the best `k` of one segment, ties within it in order of id already.

    Args:
        parts: one per segment; may be empty.
        k: at least 0.
        ids: names of rows by key; asked only where hits of two segments tie.
    """
    filled = [part for part in parts if len(part)]
    if len(filled) <= 1:
        return _head(filled[0], k) if filled else no_hits()
    keys = np.concatenate([part.keys for part in filled])
    scores = np.concatenate([part.scores for part in filled])
    segments = np.concatenate([part.segments for part in filled])
    order = np.argsort(-scores, kind="stable")
    if k < len(order):
        last = scores[order[k - 1]] if k else np.float32(np.inf)
        order = order[: int(np.count_nonzero(scores >= last))] if k else order[:0]
    _break_ties(order, scores, segments, keys, ids)
    order = order[:k]
    return Hits(keys[order], scores[order], segments[order])


def best_hits(  # noqa: PLR0917 - what a kernel found
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    tied: bool,
    k: int,
    ids: Callable[[NDArray[np.int64]], Sequence[str]],
) -> Hits:
    """The best `k`, ties by id.

    Args:
        segments, keys, scores: the best k and what ties with the last of them, best first; ties in one segment in order
            of id.
        tied: whether rows of different segments tie.
        ids: names of rows by key; asked only for those.
    """
    if tied:
        order = np.arange(len(keys))
        _break_ties(order, scores, segments, keys, ids)
        segments, keys, scores = segments[order], keys[order], scores[order]
    return Hits(keys[:k], scores[:k], segments[:k]) if len(keys) > k else Hits(keys, scores, segments)


def _head(hits: Hits, k: int) -> Hits:
    return hits if len(hits) <= k else Hits(hits.keys[:k], hits.scores[:k], hits.segments[:k])


def _break_ties(
    order: NDArray[np.int64],
    scores: NDArray[np.float32],
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    ids: Callable[[NDArray[np.int64]], Sequence[str]],
) -> None:
    """Sorts by id, in place, the stretches of equal score that hold more than one segment."""
    if not len(order):
        return
    ranked, sources = scores[order], segments[order]
    starts = np.flatnonzero(np.concatenate(([True], ranked[1:] != ranked[:-1])))
    mixed = np.minimum.reduceat(sources, starts) != np.maximum.reduceat(sources, starts)
    if not mixed.any():
        return
    ends = np.append(starts[1:], len(order))
    stretches = list(zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True))
    names = iter(ids(keys[np.concatenate([order[start:end] for start, end in stretches])]))
    for start, end in stretches:
        named = dict(zip(order[start:end].tolist(), names, strict=False))
        order[start:end] = sorted(named, key=named.__getitem__)
