"""Maps the rows of one leg's segments to those of another's.

Legs merge at their own pace, so two legs of one version may hold the same rows in different segments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.store import SegmentView, unpack
from sleuth.store.legs.leg import Bitmap, pack

SPARSE = 64
"""Keys further apart than this, on average, are looked up one by one: a table over their range could be any size."""


def align(
    bitmaps: Sequence[Bitmap], source: Sequence[SegmentView], target: Sequence[SegmentView]
) -> list[Bitmap]:
    """Return the same set of rows, as bitmaps over `target`.

    Args:
        bitmaps: per segment of `source`.
        source, target: segments of two legs, each in order of key. A row of `target` that `source` lacks is in no set.
    """
    is_alike = len(source) == len(target) and all(
        len(a) == len(b)
        and (not len(a) or (a.keys[0] == b.keys[0] and a.keys[-1] == b.keys[-1]))
        and (_is_range(a.keys) or np.array_equal(a.keys, b.keys))
        for a, b in zip(source, target, strict=True)
    )
    if is_alike:
        return list(bitmaps)
    masks = [unpack(bitmap, len(view)) for bitmap, view in zip(bitmaps, source, strict=True)]
    return [pack(_gather(view.keys, source, masks)) for view in target]


def _is_range(keys: NDArray[np.int64]) -> bool:
    return not len(keys) or int(keys[-1] - keys[0]) == len(keys) - 1


def _gather(
    keys: NDArray[np.int64], source: Sequence[SegmentView], masks: Sequence[NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return the mask of these keys, by a table over their range: ranges of keys are copied whole."""
    is_matched = np.zeros(len(keys), np.bool_)
    if not len(keys):
        return is_matched
    first_key, last_key = int(keys[0]), int(keys[-1])
    if last_key - first_key > SPARSE * len(keys):
        for view, mask in zip(source, masks, strict=True):
            is_matched |= np.isin(keys, view.keys[mask], assume_unique=True)
        return is_matched
    table = is_matched if _is_range(keys) else np.zeros(last_key - first_key + 1, np.bool_)
    for view, mask in zip(source, masks, strict=True):
        low, high = np.searchsorted(view.keys, [first_key, last_key + 1])
        inside = view.keys[low:high]
        if not len(inside):
            continue
        if _is_range(inside):
            table[int(inside[0]) - first_key : int(inside[-1]) - first_key + 1] = mask[low:high]
        else:
            table[inside - first_key] = mask[low:high]
    return table if table is is_matched else table[keys - first_key]
