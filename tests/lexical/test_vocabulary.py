"""Terms of an index by their beginning, or by a few edits."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.lexical import LexicalLeg
from sleuth.lexical.edits import Spellings
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from tests.lexical.test_search import segments_of

LEG = LexicalLeg({"text": FieldSpec("plain")})
WORDS = st.text("abcé", min_size=1, max_size=6)


def edits(one: str, other: str) -> int:
    """Return the optimal string alignment distance, by its definition."""

    @cache
    def between(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        best = min(
            between(i - 1, j) + 1, between(i, j - 1) + 1, between(i - 1, j - 1) + (one[i - 1] != other[j - 1])
        )
        if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
            best = min(best, between(i - 2, j - 2) + 1)
        return best

    return between(len(one), len(other))


def is_near(word: str, other: str, most: int) -> bool:
    """Return whether a word differs by 1 to `most` edits, and begins alike."""
    return 0 < edits(word, other) <= most and (other[0] == word[0] or other[:2] == word[1::-1])


LETTERS = st.text("abé語\U0001d11e", min_size=1, max_size=7)


@given(LETTERS, st.lists(LETTERS, max_size=8), st.integers(1, 3))
def test_terms_near_a_word_are_those_of_the_definition(word: str, others: list[str], most: int) -> None:
    """Letters of any number of bytes count as one."""
    terms = [other.encode() for other in others]
    starts = np.cumsum([0, *map(len, terms)], dtype=np.uint32)
    numbers = Spellings(np.frombuffer(b"".join(terms), np.uint8), starts).like(word, most)
    assert numbers == [place for place, other in enumerate(others) if is_near(word, other, most)]


@pytest.mark.parametrize("size", [0, 99, 100, 101, 5_000])
def test_no_term_is_near_a_word_longer_than_terms_can_be(size: int) -> None:
    """Words of up to 100 letters have neighbours; of others nothing is computed."""
    term = np.frombuffer(b"a" * 100, np.uint8)
    numbers = Spellings(term, np.array([0, 100], np.uint32)).like("a" * size, 1)
    assert numbers == ([0] if size == 99 else [])


ROWS = st.lists(st.lists(WORDS, max_size=5), min_size=1, max_size=12)


@given(
    ROWS, st.lists(st.integers(0, 12), max_size=2), st.lists(st.booleans(), min_size=12, max_size=12), WORDS
)
def test_terms_are_those_of_live_rows(
    rows: list[list[str]], cuts: list[int], live: list[bool], word: str
) -> None:
    """Each term comes with the live rows that hold it, over all segments; terms of deleted rows alone are left out."""
    live = live[: len(rows)]
    searcher = LexicalSearcher(LEG, segments_of(LEG, [{"text": " ".join(row)} for row in rows], cuts, live))
    analyzer = searcher.analyzer
    held = [set(analyzer.tokens(" ".join(row))) for row, is_live in zip(rows, live, strict=True) if is_live]
    counts = Counter(token for tokens in held for token in tokens)
    beginning = {token: count for token, count in counts.items() if token.startswith(word)}
    assert searcher.like(word, 0, 99).get("text", {}) == beginning
    alike = {token: count for token, count in counts.items() if is_near(word, token, 2)}
    assert searcher.like(word, 2, 99).get("text", {}) == alike
    greatest = sorted(beginning.items(), key=lambda entry: (-entry[1], entry[0]))[:2]
    assert list(searcher.like(word, 0, 2).get("text", {}).items()) == greatest
