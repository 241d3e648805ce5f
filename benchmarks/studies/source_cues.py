"""Which weights of cues let the right source come first in projects that took no part in choosing them?

    python -m benchmarks.studies.source_cues NAME=FOLDER:DOCS:CODE ...

Takes the projects of `benchmarks.sources`. A logistic regression tells the questions about code from those about
documents by the logarithm of the ratio of both sources' best scores and by the `Cues` of the query. Each project is
judged by the weights that the others give; then the weights of all are printed, divided by that of the logarithm, as
`sleuth.engine.scale` has them: each is the logarithm of a factor of the other kind of source.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.sources import POOL, QUESTIONS, open_project
from sleuth import Sources
from sleuth.engine import scale

PENALTY = 1.0
"""Of the squares of the weights of standardised cues."""
CODE = 1.3
"""What a question about code counts: there are fewer of them."""
FLOOR = 0.01
"""The least best score: its logarithm is finite."""


class Question(NamedTuple):
    """A question as the regression sees it.

    Attributes:
        cues: the logarithm of the ratio of the best scores, then the cues.
        code: whether it is about code.
    """

    project: str
    cues: tuple[float, ...]
    code: bool


def read(name: str, sources: Sources, query: str, kind: str) -> Question:
    """Return a question with what is known when the sources are compared."""
    rankings = {source: sources.retrieve(query, POOL, sources=[source]) for source in sources.retrievers}
    best = {"docs": FLOOR, "code": FLOOR}
    for source, ranking in rankings.items():
        label = source.partition(":")[0]
        for hit in scale.on_one_scale(query, {source: ranking})[source][:1]:
            best[label] = max(best[label], hit.score or 0.0)
    ratio = math.log(best["code"] / best["docs"])
    return Question(name, (ratio, *scale.cues(query, [*rankings.values()])), kind == "code")


def fit(questions: list[Question]) -> NDArray[np.float64]:
    """Return the weights of the cues and, last, the bias; shape (1 + cues + 1,)."""
    from sklearn.linear_model import LogisticRegression

    table = np.array([question.cues for question in questions])
    spread = table.std(axis=0) + 1e-9
    target = np.array([question.code for question in questions])
    model = LogisticRegression(C=1 / PENALTY, tol=1e-8, max_iter=1000)
    model.fit(table / spread, target, sample_weight=np.where(target, CODE, 1.0))
    return np.append(model.coef_[0] / spread, model.intercept_)


def is_code(question: Question, weights: NDArray[np.float64]) -> bool:
    """Return whether code comes first by these weights, which lower a score to `LEAST` of it at most."""
    ratio, *rest = question.cues
    lean = (weights[1:-1] @ rest + weights[-1]) / weights[0]
    return bool(ratio + min(max(lean, math.log(scale.LEAST)), -math.log(scale.LEAST)) > 0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="NAME=FOLDER:DOCS:CODE")
    texts = json.loads(QUESTIONS.read_text())
    questions: list[Question] = []
    for project in parser.parse_args().projects:
        with open_project(project) as (name, sources):
            questions += [
                read(name, sources, query, kind) for kind, queries in texts[name].items() for query in queries
            ]
    print("| left out | about docs | about code |\n|---|---|---|")
    for name in dict.fromkeys(question.project for question in questions):
        weights = fit([question for question in questions if question.project != name])
        own = [question for question in questions if question.project == name]
        counts = [
            sum(is_code(question, weights) == kind == question.code for question in own)
            for kind in (False, True)
        ]
        print(f"| {name} | {counts[0]} | {counts[1]} |")
    weights = fit(questions)
    print(
        dict(
            zip(["ratio", *scale.Cues._fields, "bias"], (weights / weights[0]).round(2).tolist(), strict=True)
        )
    )


if __name__ == "__main__":
    main()
