"""Kernels stay within their arrays for any values that hypothesis generates."""

from __future__ import annotations

import os
import random
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sleuth.dense.wordllama import load_model
from sleuth.store import SegmentData
from sleuth.store.catalogue import segments
from sleuth.text.analyzers import get_analyzer
from tests.faults.test_crafted import Subject, attempt, subject

EXAMPLES = max(15, int(os.environ.get("SLEUTH_CRAFTED", "200")) // 8)
"""Examples of each test."""
tried = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@tried
@given(st.lists(st.text(max_size=200), max_size=5), st.sampled_from(["english", "plain", "code"]))
def test_texts_are_counted(texts: list[str], analyzer: str) -> None:
    """Any text is split into terms, including lone surrogates."""
    counter = get_analyzer(analyzer).counter()
    ends, terms, counts, lengths = counter.count([texts], [1])
    assert len(ends) == len(lengths) == len(texts)
    assert len(terms) == len(counts)


@tried
@given(st.binary(max_size=300))
def test_word_pieces(text: bytes) -> None:
    """Any bytes are split into tokens of the model, and have a vector."""
    vocabulary, vectors, *_ = load_model()
    ids = vocabulary.encode(text)
    assert not len(ids) or (ids.min() >= 0 and ids.max() < len(vectors))
    tokens, sizes = vocabulary.read([text, b"", text], 50)
    assert len(tokens) == sizes.sum()


@cache
def case_of(name: str) -> Subject:
    return subject(name)


EDGES = st.sampled_from(
    [0, 1, 2, 63, 64, 65, 255, 256, 499, 500, 501, 65_535, 1 << 31, (1 << 32) - 1, (1 << 63) - 1]
)


@pytest.mark.parametrize("name", ["lexical", "flat", "dense", "tokens", "columns"])
@tried
@given(data=st.data())
def test_values_of_a_segment(name: str, data: st.DataObject) -> None:
    """Any values in the arrays of a segment raise a typed error, or are searched and merged within bounds."""
    case = case_of(name)
    arrays = dict(case.data.arrays)
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(
            st.sampled_from(sorted(n for n, a in arrays.items() if a.size and a.dtype.kind in "uif"))
        )
        array = arrays[target].copy()
        flat = array.reshape(-1)
        start = data.draw(st.integers(0, len(flat) - 1))
        if array.dtype.kind == "f":
            values = data.draw(st.lists(st.floats(width=16), min_size=1, max_size=8))
        else:
            most = int(np.iinfo(array.dtype).max)
            small = st.integers(0, most)
            values = data.draw(
                st.lists(st.one_of(EDGES.map(partial(min, most)), small), min_size=1, max_size=8)
            )
        values = values[: len(flat) - start]
        flat[start : start + len(values)] = values
        arrays[target] = array
    crafted = SegmentData(arrays, case.data.meta)
    own = case.rows
    encoded = segments.encode(case.leg.name, case.leg.fingerprint, 1, 9_999, own.keys, own.tie_ranks, crafted)
    attempt(case, encoded, random.Random(data.draw(st.integers(0, 9))))
