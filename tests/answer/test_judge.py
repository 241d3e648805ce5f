"""Ratings are parsed from the words of a judge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.answer import evaluate_relevance
from sleuth.answer.judge import read_rating


@pytest.mark.parametrize(("text", "value"), [
    ("Rating: 10\nExplanation: The answer directly addresses it.", 10),
    ("I would rate this 8/10 because it is mostly right.", 8),
    ("**Score:** 7.5 — good, though it names only 2 of 3 causes.", 7.5), ("9 out of 10. Clear.", 9),
    ("6\nIt misses the point.", 6), ("On a scale of 1 to 10, I'd give a rating of 4.", 4),
    ("Relevance rating: 3", 3), ("Rating: 8/10. I repeat: 8 out of 10.", 8),
])  # fmt: skip
def test_ratings(text: str, value: float) -> None:
    """The usual forms of a rating are parsed."""
    rating = read_rating(text)
    assert (rating.value, rating.problem, rating.text) == (value, "", text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("The answer is very relevant.", "no rating"),
        ("", "no rating"),
        ("Rating: 8/10 for style, 3/10 for content.", "several ratings in the judgement: 3, 8"),
        ("Rating: 42", "outside 1 to 10: 42"),
        ("0/10", "outside 1 to 10: 0"),
        ("It was built in 1991 with 3 parts.", "no rating"),
        ("Please rate on a scale of 1 to 10.", "no rating"),
    ],
)
def test_unreadable_ratings_say_why(text: str, problem: str) -> None:
    """A text without a readable rating gives a problem instead of a guess."""
    rating = read_rating(text)
    assert rating.value is None
    assert problem in rating.problem
    assert rating.to_dict()["text"] == text


def test_any_judge() -> None:
    """Any object with `evaluate_relevance` can judge."""

    class Strict:
        def evaluate_relevance(self, question: str, answer: str) -> str:
            return f"Rating: 2\n{question} is not answered by {answer}"

    assert evaluate_relevance(Strict(), "q", "a").value == 2


@given(st.text(max_size=80))
def test_values_are_ratings(text: str) -> None:
    """For any text of a judge, the value lies between 1 and 10 or there is a problem."""
    rating = read_rating(text)
    assert bool(rating.problem) == (rating.value is None)
    assert rating.value is None or 1 <= rating.value <= 10
