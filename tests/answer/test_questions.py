"""Questions have types, and sentences have forms that fit them."""

from __future__ import annotations

import pytest

from sleuth.answer.parts import Part
from sleuth.answer.questions import QuestionType, question_type, suits


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many files are read?", "number"),
        ("how long does it take", "number"),
        ("When was it founded?", "when"),
        ("Where is the index kept?", "where"),
        ("Who wrote this?", "who"),
        ("why is it slow", "reason"),
        ("how do I add a filter", "steps"),
        ("which command indexes a folder", "steps"),
        ("What is a plugin?", "definition"),
        ("name the colours", "other"),
    ],
)
def test_types(question: str, expected: QuestionType) -> None:
    """The words of a question determine its type."""
    assert question_type(question) == expected


@pytest.mark.parametrize(
    ("question", "good", "poor"),
    [
        ("How many files are read?", "Ten files are read.", "Files are read."),
        ("When was it founded?", "In June 1884.", "A share of .803 was founded."),
        ("When was it founded?", "It was founded in 1884.", "It was founded."),
        ("Who wrote this?", "It was written by Ada Lovelace.", "It was written by someone."),
        ("why is it slow", "It is slow because it waits.", "It is slow."),
        ("how do I add a filter", "Use --filter to add one.", "Filters are nice."),
        ("What is a plugin?", "A plugin is a module with hooks.", "Nobody needs a plugin."),
        ("What are plugins?", "Plugins are modules.", "It loads plugins."),
    ],
)
def test_forms(question: str, good: str, poor: str) -> None:
    """A sentence in the expected form fits better than another."""
    kind = question_type(question)

    def of(text: str) -> float:
        return suits(kind, Part(0, len(text), text, "sentence"), question)

    assert of(good) == 1.0
    assert of(poor) == 0.0
