"""Vectors, codes and tokens that no builder writes are refused, whatever their checksums say."""

from typing import Any

import numpy as np
import pytest

from sleuth.dense import DenseLeg
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.store import SegmentData
from tests.segments import rows_of

N = 70
LEG = DenseLeg(WordLlamaEmbedder())


@pytest.fixture(scope="module")
def segment_data() -> SegmentData:
    """A segment of 70 rows, with tokens."""
    return LEG.build(rows_of([f"tokens are refilled {i} times a second" for i in range(N)]))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("factors", 5, -1.0), ("factors", 5, np.nan), ("factors", 5, np.inf), ("centre", 0, np.nan),
        ("sizes", 69, 200),
        ("tokens", slice(-3, None), [0xFF, 0xFF, 0x7F]),
    ],
)  # fmt: skip
def test_arrays_that_no_builder_writes_are_refused(
    segment_data: SegmentData, name: str, place: Any, value: Any
) -> None:
    """Factors are not negative, numbers are finite, and the sets of tokens fill what is written."""
    LEG.validate(segment_data, N, full=True)
    spoiled = segment_data.arrays[name].copy()
    spoiled[place] = value
    with pytest.raises(ValueError, match=name if name != "sizes" else "sizes|tokens"):
        LEG.validate(SegmentData({**segment_data.arrays, name: spoiled}, segment_data.meta), N, full=True)
