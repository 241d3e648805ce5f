"""Terms of an index by their beginning, or by a few edits."""

from __future__ import annotations

from collections import Counter
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.lexical.vocabulary import distances
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


@given(WORDS, st.lists(WORDS, max_size=8))
def test_distances_are_those_of_the_definition(word: str, others: list[str]) -> None:
    assert distances(word, others) == [edits(word, other) for other in others]


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
    assert searcher.beginning_with(word, 99)["text"] == beginning
    alike = {
        token: count
        for token, count in counts.items()
        if 0 < edits(word, token) <= 2 and (token[0] == word[0] or token[:2] == word[1::-1])
    }
    assert searcher.near(word, 2, 99)["text"] == alike
    greatest = sorted(beginning.items(), key=lambda entry: (-entry[1], entry[0]))[:2]
    assert list(searcher.beginning_with(word, 2)["text"].items()) == greatest
