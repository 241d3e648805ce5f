"""Postings that no builder writes are refused, whatever their checksums say."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.lexical import LexicalLeg, postings
from sleuth.lexical.leg import FieldSpec
from sleuth.store import SegmentData
from tests.segments import rows_of

LEG = LexicalLeg({"text": FieldSpec("plain")})
N = 400
TEXTS = [f"often {'rare ' * (i % 150 == 3)}word{i}" for i in range(N)]

Entries = NDArray[np.uint32]


def rare(entries: Entries) -> Entries:
    """The three postings of "rare", in rows 3, 153 and 303, each once: its list is the only one of three."""
    place = int(np.flatnonzero((entries[:-2] == 3 << 4 | 1) & (entries[2:] == 303 << 4 | 1))[0])
    return entries[place : place + 3]


SPOILED: dict[str, Callable[[int, int, int], tuple[int, int, int]]] = {
    "a row twice": lambda a, b, c: (a, a, c),
    "rows out of order": lambda a, b, c: (b, a, c),
    "a row beyond the segment": lambda a, b, c: (a, b, N << 4 | 1),
    "a count of nothing": lambda a, b, c: (a, b & ~15, c),
    "a count that is nowhere": lambda a, b, c: (a, b | 15, c),
}


@pytest.mark.parametrize("case", SPOILED)
def test_a_list_that_no_builder_writes_is_refused(case: str) -> None:
    """Rows of a list rise and are in the segment, and every count is there."""
    data = LEG.build(rows_of(TEXTS))
    LEG.validate(data, N, full=True)
    entries = data.arrays["text.entries"].copy()
    rare(entries)[:] = SPOILED[case](*rare(entries).tolist())
    with pytest.raises(ValueError, match="text"):
        LEG.validate(SegmentData({**data.arrays, "text.entries": entries}, data.meta), N, full=True)


def test_terms_of_four_gigabytes_are_refused() -> None:
    """The offset of a term has 32 bits; the largest value means that the term has no postings."""
    for size in (postings.GONE, postings.GONE + 1):
        with pytest.raises(ArgumentError, match=f"bytes of distinct terms, got {size}"):
            postings.dictionary(np.zeros(0, np.uint8), np.array([0, size]))


def test_a_text_counts_at_most_a_thousand_times() -> None:
    """The weight of a text is 1 to 1,000."""
    assert FieldSpec("plain", {"title": 1000, "text": 1}).sources["title"] == 1000
    for weight in (0, 1001):
        with pytest.raises(ArgumentError, match=f"from 1 to 1000, got {weight}"):
            FieldSpec("plain", {"title": weight})
