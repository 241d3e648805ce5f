"""A question that follows others becomes one that stands alone."""

import pytest

from sleuth.answer.conversation import Turn, standalone_question
from tests.answer.conftest import Scripted

TURNS = [Turn("How often are tokens refilled?", "Every second [1]."), Turn("Who refills them?")]


def test_a_model_rewrites_the_question() -> None:
    """The model reads the turns with their answers; the first line that it writes is the question."""
    model = Scripted("\n Who refills tokens at night? \nBecause.")
    assert standalone_question("And at night?", TURNS, model) == "Who refills tokens at night?"
    (prompt,) = model.prompts
    assert "Answer: Every second [1]." in prompt
    assert prompt.endswith("Last question: And at night?\nQuestion that stands alone:")


@pytest.mark.parametrize("text", ["", "  \n ", "a" * 10_001])
def test_a_model_that_writes_no_question_changes_nothing(text: str) -> None:
    """An empty or endless text of a model is no question."""
    assert standalone_question("And at night?", TURNS, Scripted(text)) == "And at night?"


def test_without_a_model_the_words_of_the_last_question_are_added() -> None:
    """Words that the question has already are not repeated."""
    assert standalone_question("And who at night?", TURNS, None) == "And who at night? refills them?"
    model = Scripted()  # is not asked without turns, and without words
    questions = [standalone_question("Who?", [], model), standalone_question(" ", TURNS, model)]
    assert (questions, model.prompts) == (["Who?", " "], [])
