import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.dense import TokenReranker
from sleuth.dense.late import match
from sleuth.dense.wordllama import load_model
from sleuth.errors import ArgumentError
from sleuth.protocols import Reranker
from sleuth.testing.contracts import RerankerContract
from sleuth.types import RetrievedItem

TEXTS = st.lists(st.sampled_from(["dog", "puppy", "bank rates", "", "naïve", "x1"]), max_size=4).map(" ".join)


class TestTokenReranker(RerankerContract):
    def make(self) -> Reranker:
        return TokenReranker()


def item(name: str, score: float | None, text: str) -> RetrievedItem:
    return RetrievedItem(id=name, text=text, score=score)


def slow_match(query: str, text: str) -> float:
    """The same from the definition, token by token."""
    vocabulary, table = load_model()
    asked = vocabulary.encode(query.encode()).tolist()
    read = vocabulary.encode(text.encode()).tolist()
    if not asked or not read:
        return 0.0
    rows = table.astype(np.float32)
    total = weights = 0.0
    for token in asked:
        length = float(np.linalg.norm(rows[token]))
        near = [
            float(rows[token] @ rows[other]) / (length * float(np.linalg.norm(rows[other]))) for other in read
        ]
        total += length**1.5 * max(near)
        weights += length**1.5
    return total / weights


@settings(max_examples=25, deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_match_equals_its_definition(query: str, texts: list[str]) -> None:
    """The match is the weighted mean of the best cosines, token by token."""
    expected = [slow_match(query, text) for text in texts]
    assert np.allclose(match(query, texts), expected, atol=1e-5)


def test_a_text_matches_itself() -> None:
    """A text that holds all tokens of the query has 1, one of other words less, an empty one 0."""
    values = match("small dogs", ["small dogs run", "tiny puppies", "interest rates", ""])
    assert math.isclose(values[0], 1, abs_tol=1e-5)
    assert values[0] > values[1] > values[2]
    assert values[3] == 0


def test_best_match_gains_most() -> None:
    """The best match gains `weight` of the best score, the worst nothing, and hits below `depth` keep theirs."""
    items = [item("a", 1.0, "interest rates"), item("b", 0.9, "small dogs"), item("c", 0.8, "small dogs")]
    found = TokenReranker(weight=0.5, depth=2).rerank("small dogs", items)
    assert [(it.id, it.score) for it in found] == [("b", pytest.approx(1.4)), ("a", 1.0), ("c", 0.8)]
    told = found[0].explanation
    assert told is not None
    assert told.facts["gain"] == pytest.approx(0.5)


def test_nothing_to_compare() -> None:
    """Without a query or with one hit the scores stay; an item without a score has 0."""
    assert [it.score for it in TokenReranker().rerank("", [item("a", 1.0, "x"), item("b", 0.5, "y")])] == [
        1.0,
        0.5,
    ]
    assert [it.score for it in TokenReranker().rerank("x", [item("a", None, "x")])] == [None]


@pytest.mark.parametrize("wrong", [{"weight": -1}, {"weight": float("nan")}, {"depth": 0}, {"depth": 1.5}])
def test_wrong_settings(wrong: dict[str, int]) -> None:
    """Settings that make no sense are refused by name."""
    with pytest.raises(ArgumentError, match=f"{next(iter(wrong))} must be"):
        TokenReranker(**wrong)
