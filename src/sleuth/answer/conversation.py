"""Conversations: a question that follows others becomes one that stands alone, so that it can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sleuth.arguments import MOST_QUERY
from sleuth.protocols import Generator

MOST_TURNS: Final = 6
"""Turns that a model reads, the newest ones."""
_MOST_ANSWER: Final = 600
"""Characters of an earlier answer that a model reads."""

_RULES: Final = (
    "Rewrite the last question so that it can be understood without the conversation before it. Put names in place of "
    "words such as it, that or the second one. If it stands alone already, repeat it. Write nothing but the question."
)


class Turn(NamedTuple):
    """An earlier question of a conversation.

    Attributes:
        answer: what was answered; "" where it is not known.
    """

    question: str
    answer: str = ""


def standalone_question(question: str, turns: Sequence[Turn], generator: Generator | None) -> str:
    """Return what a question asks without the conversation before it.

    With a model, the model rewrites it. Without one, the words of the question before it are added.

    Args:
        turns: the earlier questions, the oldest first.

    Raises:
        GenerationError: the model did not answer.
    """
    if not turns or not question.strip():
        return question
    if generator is not None:
        completion = generator.complete(_prompt(question, turns[-MOST_TURNS:])).strip()
        line = next((line.strip() for line in completion.split("\n") if line.strip()), "")
        return line if 0 < len(line) <= MOST_QUERY else question
    words = question.casefold().split()
    new_words = [word for word in turns[-1].question.split() if word.casefold() not in words]
    return " ".join([question, *new_words])[:MOST_QUERY]


def _prompt(question: str, turns: Sequence[Turn]) -> str:
    talk = "\n\n".join(f"Question: {turn.question}\nAnswer: {turn.answer[:_MOST_ANSWER]}" for turn in turns)
    return f"{_RULES}\n\n{talk}\n\nLast question: {question}\nQuestion that stands alone:"
