"""Values as bytes between processes."""

import struct
from typing import Any

import numpy as np
import pytest

from sleuth.cluster.shards import decode, encode
from sleuth.cluster.shards.shard import Ask
from sleuth.engine.queries import QueryCondition
from sleuth.engine.search import PoolRequest
from sleuth.filters import as_filter
from sleuth.store import Corpus, Counts
from sleuth.store.record.values import Row
from sleuth.types import Explanation

ROW = Row(
    7, "a#0", "a", 0, "tide \ud800", {"year": 3, "deep": {"list": [1, None, 1.5]}}, {}, 0, 4, 1, 1, None
)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [True, 1, 1.5, "ÿ", b"\0\1", (1, (2, "x")), frozenset({"a", "b"}), {3: {"a": []}, ("k", None): 1}],
        ROW,
        {1: [Counts(1, 2), Explanation("a", 0.1, "b", {"tf": 3}, (Explanation("c", 2.0),))]},
        PoolRequest(5, as_filter("year<5 AND NOT kind=paper"), 0.5, False, True, (QueryCondition("a b"),)),
        float("-inf"),
    ],
)
def test_values_come_back_as_they_were(value: Any) -> None:
    """Values, and their types, are the same after a journey."""
    back = decode(encode(value))
    assert back == value and type(back) is type(value)


def test_arrays_keep_their_bits() -> None:
    """Arrays of a question keep dtype, shape and bits, empty ones too."""
    vector = np.array([0.1, -0.0, 3e-38], np.float32)
    ask = Ask(
        {"dense": vector, "lexical": "tide"},
        PoolRequest(5, None, 0.0, True, False),
        "x",
        {"lexical": Corpus({"text": {"total": 9, "filled": 3}}, {"text": {"tide": 2}})},
    )
    back = decode(encode((ask, np.zeros((0, 3), np.int64))))
    assert back[0].corpora == ask.corpora and back[0].queries["lexical"] == "tide"
    assert (
        back[0].queries["dense"].tobytes() == vector.tobytes()
        and back[0].queries["dense"].dtype == np.float32
    )
    assert back[1].shape == (0, 3) and back[1].dtype == np.int64


def test_other_values_and_other_bytes_are_refused() -> None:
    """The encoder refuses values of other kinds, and the decoder refuses foreign bytes."""
    with pytest.raises(TypeError, match="got object"):
        encode([object()])
    for data in (b"", encode(1) + b"x", encode([1]).replace(b"[1]", b"{1}")):
        with pytest.raises((ValueError, TypeError, struct.error)):
            decode(data)
    with pytest.raises(KeyError):
        decode(encode({"a": 1}).replace(b'"dict"', b'"Eval"'))
