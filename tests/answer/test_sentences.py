"""Sentence boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.text.borders import split_sentences
from tests.answer.conftest import SAMPLES


@pytest.mark.parametrize(("text", "sentences"), SAMPLES["sentences"])
def test_borders(text: str, sentences: list[str]) -> None:
    """Sentences end at full stops, blank lines and list items, not at abbreviations, numbers or line breaks."""
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(st.text("ab .!?\n-|“”。A1", max_size=60))
def test_nothing_but_white_space_is_lost(text: str) -> None:
    """Spans are in order, trimmed and without overlap, and only white space lies between them."""
    end = 0
    for start, stop in split_sentences(text):
        assert text[end:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert text[end:].strip() == ""
