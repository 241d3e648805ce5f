"""Pairs of words in queries and texts."""

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sleuth.code.search.phrases import pairs_of, phrase_scores
from sleuth.code.search.query import read_query

WORDS = st.sampled_from(["broken", "pipe", "retri", "queue", "server"])


def test_pairs_are_of_the_title() -> None:
    """Neighbouring words and parts of names in the title form stemmed pairs, common words separate them, and the body
    has none.
    """
    pairs = read_query("Retries of brokenPipe are lost\n\nThe server queue waits").pairs
    assert pairs == (("broken", "pipe"),)
    assert read_query("retrying broken pipes").pairs == (("retri", "broken"), ("broken", "pipe"))
    assert read_query("").pairs == ()


def test_pairs_are_found_however_they_are_joined() -> None:
    """Blanks, punctuation, underscores, capitals and endings do not separate a pair; a word between does."""
    pairs = pairs_of(["broken", "pipe"])
    texts = [
        b"a broken pipe", b"broken_pipes", b"BrokenPipeError", b"broken. Pipe", b"BROKEN-PIPE",
        b"brokenly\npipe",
    ]  # fmt: skip
    assert phrase_scores(pairs, texts) == [1] * len(texts)
    assert phrase_scores(pairs, [b"broken old pipe", b"pipe broken", b"", b"\xff"]) == [0, 0, 0, 0]
    assert phrase_scores(pairs_of(["retri", "queue"]), [b"retry queue", b"retries_queue"]) == [1, 1]


@given(st.lists(WORDS, max_size=6), st.lists(st.lists(WORDS, max_size=8), max_size=5))
def test_scores_count_pairs_by_rarity(title: list[str], bodies: list[list[str]]) -> None:
    """A text scores its share of the pairs, each weighted by ln(1 + texts / texts with the pair)."""
    pairs = pairs_of(title)
    present = [{pair for pair in pairs if pair in set(pairwise(body))} for body in bodies]
    weights = {
        pair: math.log(1 + len(bodies) / max(1, sum(pair in some for some in present))) for pair in pairs
    }
    expected = [sum(weights[pair] for pair in some) / (sum(weights.values()) or 1) for some in present]
    scores = phrase_scores(pairs, [" ".join(body).encode() for body in bodies])
    assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(scores, expected, strict=True))
