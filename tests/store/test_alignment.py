"""Sets of rows are converted from one leg's segments to another's."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from sleuth.store import SegmentView, unpack
from sleuth.store.catalogue.alignment import align
from sleuth.store.legs.leg import pack


def views(keys: list[int], cuts: list[int]) -> list[SegmentView]:
    """Return segments of these keys, divided at these keys."""
    parts = np.split(np.array(keys, np.int64), np.searchsorted(keys, sorted(cuts)))
    return [SegmentView(str(i), part, None, None, {}, {}) for i, part in enumerate(parts)]


keys = st.lists(st.integers(1, 200), unique=True, max_size=80).map(sorted)
cuts = st.lists(st.integers(1, 200), max_size=4)


@given(keys, keys, cuts, cuts, st.sets(st.integers(1, 200)))
def test_align_keeps_the_set(
    mine: list[int], yours: list[int], here: list[int], there: list[int], selection: set[int]
) -> None:
    """The aligned set contains the selected rows that both legs have, for any division into segments."""
    source, target = views(mine, here), views(yours, there)
    bitmaps = [pack(np.isin(view.keys, list(selection))) for view in source]
    aligned = align(bitmaps, source, target)
    members = [
        int(k) for view, bits in zip(target, aligned, strict=True) for k in view.keys[unpack(bits, len(view))]
    ]
    assert members == sorted(selection & set(mine) & set(yours))
