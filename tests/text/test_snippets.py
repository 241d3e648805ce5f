"""Snippets: exact, bounded, and cut only at word boundaries."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.text.analyzers import get_analyzer
from sleuth.text.snippets import snippet
from tests.examples import examples

ENGLISH = get_analyzer("english")
PLAIN = get_analyzer("plain")


def test_the_window_with_most_of_the_query_is_shown() -> None:
    """Two neighbouring words of the query win over one."""
    text = "Dogs bark. " + "filler words here " * 30 + "The dog chased a cat away. " + "more filler " * 30
    window = snippet(text, "dogs chasing cats", ENGLISH, width=60)
    assert [window.text[a:b] for a, b in window.spans] == ["dog", "chased", "cat"]
    assert len(window.text) <= 60
    assert text[window.start : window.start + len(window.text)] == window.text


@pytest.mark.parametrize(
    ("text", "query", "first"),
    [
        ("Filler words for a while. A bucket holds tokens. More words follow.", "tokens", "A bucket"),
        ("Words go on. “A bucket leaks.” It holds some tokens, and so on and on.", "tokens", "It holds"),
        ("filler words\nthat wrap\n\nin a bucket are tokens, and\nmore words that wrap around", "tokens", "in a"),
        ("def f():\n    pass\n\ndef g(n):\n    if n > tokens:\n        wait()\n    pass", "tokens", "    if n"),
        ("词语在这里很长很长很长很长很长。桶装着令牌，还有别的词语在这里很长", "令牌", "桶"),
        ("كلمات كثيرة هنا؟ الدلو يحمل رموزا وكلمات أخرى", "رموزا", "الدلو"),
    ],
    ids=["sentence", "quotes", "paragraph", "code", "chinese", "arabic"],
)  # fmt: skip
def test_a_snippet_begins_at_a_sentence_or_a_line(text: str, query: str, first: str) -> None:
    """Where one begins close enough before the match, the snippet begins there, with the indentation of a line."""
    excerpt = snippet(text, query, PLAIN, width=len(text) // 2)
    assert excerpt.text.startswith(first)
    assert query in excerpt.text
    assert len(excerpt.text) <= len(text) // 2


def test_a_long_sentence_is_cut_between_words() -> None:
    """Where no sentence begins close enough, the snippet begins at a word."""
    excerpt = snippet("word " * 40 + "tokens " + "word " * 40, "tokens", PLAIN, width=40)
    assert excerpt.text.startswith("word ")
    assert "tokens" in excerpt.text


@pytest.mark.parametrize(
    ("text", "query", "width", "expected"),
    [
        ("one two three four", "zebra", 11, ("one two", [])),
        ("A cat sat.", "cat", 240, ("A cat sat.", ["cat"])),
        ("an extraordinarily long word", "extraordinarily", 5, ("extraordinarily", ["extraordinarily"])),
        ("昨日は東京都へ行った", "東京都", 240, ("昨日は東京都へ行った", ["東京都"])),
        ("Version 7 came after version 6, and C++ before.", "version 7 of c++", 240,
         ("Version 7 came after version 6, and C++ before.", ["Version 7", "version", "C++"])),
    ],
    ids=["no match: the beginning", "a short text", "a word longer than the window", "pairs", "a compound"],
)  # fmt: skip
def test_what_is_shown_and_marked(text: str, query: str, width: int, expected: tuple[str, list[str]]) -> None:
    """A text that fits is whole, a match is never cut, and what is one word to the reader is one mark."""
    window = snippet(text, query, ENGLISH, width)
    assert (window.text, [window.text[start:end] for start, end in window.spans]) == expected
    assert window.start == text.index(window.text)


SCRIPTS = tomllib.loads((Path(__file__).parent / "scripts.toml").read_text("utf8"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_right_to_left_and_wide_text(script: str) -> None:
    """Text from right to left or in wide characters begins at its sentence and keeps its marks."""
    text, query, first = (SCRIPTS[script][name] for name in ("text", "query", "first"))
    window = snippet(text, query, PLAIN, width=len(text) * 2 // 3)
    assert text[window.start : window.start + len(window.text)] == window.text
    assert window.text.startswith(first)
    assert [window.text[a:b] for a, b in window.spans] == [query]


@settings(max_examples=examples(100), deadline=None)
@given(
    text=st.text(st.sampled_from("abc d e\n.é e\u0301漢字👩‍👧👍🏽"), max_size=80),
    query=st.text(st.sampled_from("abc de漢字"), max_size=8),
    width=st.integers(1, 40),
)
def test_no_word_and_no_combining_sequence_is_cut(text: str, query: str, width: int) -> None:
    """For any text, the snippet is a part of it, its marks lie inside, and its ends are word boundaries."""
    window = snippet(text, query, PLAIN, width)
    start, end = window.start, window.start + len(window.text)
    assert text[start:end] == window.text
    assert all(0 <= a < b <= len(window.text) for a, b in window.spans)
    assert all(b <= c for (_, b), (c, _) in zip(window.spans, window.spans[1:], strict=False))
    for border in (start, end):
        if 0 < border < len(text):
            assert text[border] not in "\u0301\u200d🏽"
            assert text[border - 1] != "\u200d"
            if window.spans:
                assert not (text[border - 1] in "abcdeé" and text[border] in "abcdeé")


@pytest.mark.parametrize("width", [0, -1, 2.5, True])
def test_the_width_must_be_positive(width: int) -> None:
    """A width that is not a positive int raises an error."""
    with pytest.raises(ArgumentError, match="width must be"):
        snippet("text", "text", PLAIN, width)
