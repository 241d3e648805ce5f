"""Questions about six public corpora, and the verdicts of a person on their answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.answers import VERDICTS, Answered, Question, ask, corpora

FOLDER = "SLEUTH_ANSWER_CORPORA"
"""Names the folder with a checkout of each corpus, at the commit that questions.toml names."""


def test_the_verdicts_reach_the_bars() -> None:
    """55 % are right, 12 % wrong; of likely ones 85 % help; of what no page answers 10 % are likely at most."""
    questions = [question for corpus in corpora() for question in corpus.questions]
    real = [question for question in questions if question.answers]
    assert (len(real), len(questions)) == (96, 180)

    def count(*ends: str, of: list[Question] = real) -> int:
        return sum(question.verdict.endswith(ends) for question in of)

    likely = [question for question in real if question.verdict.startswith("likely")]
    assert count(*VERDICTS) == len(real)
    assert count("right") >= 0.55 * len(real)
    assert count("wrong") <= 0.12 * len(real)
    assert count("right", "partly", of=likely) >= 0.85 * len(likely)
    assert len(likely) >= len(real) / 2
    for part in ("fit", "check"):
        parts = [corpus.questions for corpus in corpora() if corpus.part == part]
        unreal = [question for questions in parts for question in questions if not question.answers]
        silent = [question for question in unreal if question.is_silent]
        assert (len(unreal), len(silent)) == (42, 30)
        for some in (unreal, silent):
            assert sum(question.verdict.startswith("likely") for question in some) <= 0.1 * len(some)


@pytest.mark.skipif(
    not os.environ.get(FOLDER), reason=f"the corpora are not a part of the project: set {FOLDER}"
)
def test_answers_are_no_worse_than_the_first_hit() -> None:
    """The answer holds the expected words as often as the first hit does, less 3, and grades keep to the bars."""
    answered: list[Answered] = []
    for corpus in corpora():
        answered += ask(corpus, Path(os.environ[FOLDER]))
    real = [each for each in answered if each.question.answers]
    likely = [each for each in real if each.is_likely]
    assert sum(each.answer_holds for each in real) >= sum(each.first_holds for each in real) - 3
    assert sum(each.answer_holds for each in likely) >= 0.85 * len(likely)
    assert len(likely) >= len(real) / 2
    assert sum(each.is_likely for each in answered) - len(likely) <= 0.1 * (len(answered) - len(real))
