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
        talk = [
            f"Question: {turn.question}\nAnswer: {turn.answer[:_MOST_ANSWER]}" for turn in turns[-MOST_TURNS:]
        ]
        last = f"Last question: {question}\nQuestion that stands alone:"
        line = generator.complete("\n\n".join([_RULES, *talk, last])).strip().split("\n")[0].strip()
        return line if 0 < len(line) <= MOST_QUERY else question
    words = question.casefold().split()
    new_words = [word for word in turns[-1].question.split() if word.casefold() not in words]
    return " ".join([question, *new_words])[:MOST_QUERY]
