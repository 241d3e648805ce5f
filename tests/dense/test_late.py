import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.dense import DenseLeg, late
from sleuth.dense.search import DenseSearcher
from sleuth.dense.wordllama import MOST_TOKENS, WordLlamaEmbedder, legible, load_model
from sleuth.store.record.values import Row
from tests.dense.strategies import HashEmbedder
from tests.examples import examples
from tests.segments import rows_of, segment_of, view_of

TEXTS = st.lists(st.sampled_from(["dog", "puppy", "bank rates", "", "naïve", "x1"]), max_size=4).map(" ".join)


def slow_match(query: str, text: str) -> float:
    """Compute the match from the definition, token by token."""
    vocabulary, table, *_ = load_model()
    query_tokens = vocabulary.encode(legible(query)).tolist()
    tokens = vocabulary.encode(legible(text)).tolist()
    if not query_tokens or not tokens:
        return 0.0
    rows = table.astype(np.float32)
    total = weights = 0.0
    for token, times in Counter(query_tokens).items():
        length = float(np.linalg.norm(rows[token]))
        near = [
            float(rows[token] @ rows[other]) / (length * float(np.linalg.norm(rows[other])))
            for other in tokens
        ]
        weight = times**0.5 * length**1.5
        total += weight * max(near)
        weights += weight
    return total / weights


@settings(max_examples=examples(25), deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_match_equals_its_definition(query: str, texts: list[str]) -> None:
    """The match is the weighted mean of the best cosine of each token."""
    expected = [slow_match(query, text) for text in texts]
    assert np.allclose(late.match(query, texts), expected, atol=1e-5)


@settings(max_examples=examples(40), deadline=None)
@given(
    TEXTS,
    st.lists(st.lists(st.tuples(TEXTS, st.booleans()), max_size=90), min_size=1, max_size=3),
    st.integers(0, 1000),
)
def test_kept_tokens_match_as_texts_do(query: str, segments: list[list[tuple[str, bool]]], seed: int) -> None:
    """Rows match equally by the tokens stored in segments and by their texts, before and after a merge."""
    leg, views, first = DenseLeg(WordLlamaEmbedder()), [], 1
    texts: dict[int, str] = {}
    for number, rows in enumerate(segments):
        live = np.array([alive for _, alive in rows], bool)
        views.append(segment_of(leg, rows_of([text for text, _ in rows], first), f"s{number}", live))
        texts |= {first + i: text for i, (text, alive) in enumerate(rows) if alive}
        first += len(rows)
    merge_result = leg.merge(views)
    keys = np.array(list(texts), np.int64)
    whole = view_of(merge_result, keys)
    shuffled = np.random.default_rng(seed).permutation(keys)
    expected = late.match(query, [texts[key] for key in shuffled.tolist()])
    for searcher in (DenseSearcher(leg, views), DenseSearcher(leg, [whole])):
        matches = searcher.matcher.match(query, shuffled, no_rows)
        assert np.allclose(matches, expected, atol=1e-6)


def test_only_the_first_tokens_count() -> None:
    """Only the first tokens of a text are matched."""
    values = late.match("puppy", ["puppy " + "dog " * MOST_TOKENS, "dog " * MOST_TOKENS + "puppy"])
    assert values[0] == pytest.approx(1, abs=1e-6)
    assert values[1] < 0.999


def test_a_long_query_is_matched_whole() -> None:
    """A query of more than 64 distinct tokens is matched completely."""
    query = " ".join(map(chr, range(33, 127)))
    assert len(set(load_model().vocabulary.encode(query.encode()).tolist())) > 64
    texts = [query, "dog", query[100:], "number " + query[:20]]
    assert late.match(query, texts) == pytest.approx([slow_match(query, text) for text in texts], abs=1e-5)


def no_rows() -> Sequence[Row]:
    raise LookupError("texts are read")


def test_rows_without_tokens_have_no_match() -> None:
    """A row of no segment, or of another embedder, is matched by its text."""
    leg = DenseLeg(WordLlamaEmbedder())
    view = segment_of(leg, rows_of(["a dog", "a puppy"]))
    other = DenseLeg(HashEmbedder())
    for searcher, keys in (
        (DenseSearcher(leg, [view]), [0, 2]),
        (DenseSearcher(other, [segment_of(other, rows_of(["a dog"]))]), [0]),
    ):
        with pytest.raises(LookupError):
            searcher.matcher.match("dog", np.array(keys), no_rows)
    assert leg.fingerprint.endswith("|tokens")
    assert not other.fingerprint.endswith("|tokens")


def test_a_text_matches_itself() -> None:
    """A text with all tokens of the query scores 1, one with other words less, an empty one 0."""
    values = late.match("small dogs", ["small dogs run", "tiny puppies", "interest rates", ""])
    assert math.isclose(values[0], 1, abs_tol=1e-5)
    assert values[0] > values[1] > values[2]
    assert values[3] == 0
