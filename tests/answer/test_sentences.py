"""Sentence boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        (
            "Dr. Smith met J. R. Jones, e.g. in May. They spoke.",
            ["Dr. Smith met J. R. Jones, e.g. in May.", "They spoke."],
        ),
        ("It costs 3.50 euros. Cheap.", ["It costs 3.50 euros.", "Cheap."]),
        ("See config.yaml for more. It is short.", ["See config.yaml for more.", "It is short."]),
        ("A line\nthat goes on.\nNext one.", ["A line\nthat goes on.", "Next one."]),
        ("# Heading\n\nText here", ["# Heading", "Text here"]),
        ("Do:\n- first thing\n- second thing", ["Do:", "- first thing", "- second thing"]),
        ("He said “Stop.” She did.", ["He said “Stop.”", "She did."]),
        ("雨が降る。風が吹く。", ["雨が降る。", "風が吹く。"]),
        ("Wait... what? Yes", ["Wait... what?", "Yes"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_borders(text: str, sentences: list[str]) -> None:
    """Sentences end at full stops, blank lines and list items, not at abbreviations, numbers or line breaks."""
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text("ab .!?\n-|“”。A1", max_size=60))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    """Spans are in order, trimmed and without overlap, and only white space lies between them."""
    spans = split_sentences(text)
    end = 0
    for start, stop in spans:
        assert text[end:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert text[end:].strip() == ""
