"""Relevance of an answer to its question, as a model judges it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from sleuth.answer.synthesis import OnText, told
from sleuth.remote import async_twin

_RATING: Final = re.compile(
    r"(?<![\d.])(?P<of_ten>\d{1,2}+(?>(?:\.\d++)?))\s*+(?:/|out of|von|of)\s*+10(?!\.?\d)"
    r"|\b(?:rating|score|relevance|rate)\b[^\d\n]{0,60}?(?<![\d.])(?P<named>\d{1,2}+(?>(?:\.\d++)?))"
    r"(?!\.?\d|\s*+(?:-|–|to|/|out)\s*+\d)"
    r"|\A\W*+(?P<alone>\d{1,2}+(?>(?:\.\d++)?))\W*?(?:$|\n|[.:,-]\s)",
    re.IGNORECASE,
)


class Judge(Protocol):
    """Rates an answer in words; `LLMGenerator` is one. With `stream_relevance` it does so in pieces, too."""

    def evaluate_relevance(self, question: str, answer: str) -> str:
        """Return a rating from 1 to 10 with a reason."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A judgement, as far as it can be read.

    Attributes:
        value: 1 to 10; None where `problem` says why it could not be read.
        text: the judge's own words.
    """

    value: float | None
    text: str
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return asdict(self)


def evaluate_relevance(judge: Judge, question: str, answer: str, *, on_text: OnText | None = None) -> Rating:
    """Ask a judge for a rating of an answer; say so if its reply holds no rating.

    Args:
        on_text: called with each piece of the judge's words as it comes.

    Raises:
        GenerationError: the model did not answer.
    """
    stream = getattr(judge, "stream_relevance", None)
    pieces = stream(question, answer) if on_text and stream else [judge.evaluate_relevance(question, answer)]
    return read_rating("".join(told(piece, on_text) for piece in pieces))


aevaluate_relevance = async_twin(evaluate_relevance)


def read_rating(text: str) -> Rating:
    """Read the rating in a judge's words: "Rating: 8", "8/10", "8 out of 10", or a number alone in front."""
    matches = list(_RATING.finditer(text.strip()))
    by_form = ({float(match[form]) for match in matches if match[form]} for form in _RATING.groupindex)
    values = next(filter(None, by_form), set())
    if not values:
        return Rating(None, text, "no rating from 1 to 10 in the judgement")
    if len(values) > 1:
        numbers = ", ".join(f"{value:g}" for value in sorted(values))
        return Rating(None, text, f"several ratings in the judgement: {numbers}")
    (value,) = values
    if not 1 <= value <= 10:
        return Rating(None, text, f"a rating outside 1 to 10: {value:g}")
    return Rating(value, text)
