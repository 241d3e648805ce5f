"""Are the grades of `sleuth ask` true, and do its quotes hold the answer?

    python -m benchmarks.answers [--xquad FOLDER] [--pubmedqa FILE] [--covidqa FILE] [--wikiqa FILE] [--rerank NAME]
        [--fit] [--words] [--show SOURCE] [--languages] [--sources NAME ...]
    python -m benchmarks.answers --model NAME [--most N]

Asks six kinds of sources (`answer_sources.py`): XQuAD where its folder is given, PubMedQA where its file
`ori_pqal.json` is; and near misses of COVID-QA and WikiQA, which do not count among "all". Some questions may take
part in a choice, others judge it; the table has both. `--fit` fits the grader on the first.
`--words` leaves out vectors; `--rerank` lets a neural model rerank the passages; `--show` prints the answers to the
questions for choices; `--languages` asks XQuAD in other languages. `--model` lets a model answer instead, up
to N questions of each source, and measures its citations without a judge: a citation is right if its passage holds
half of the numbers and longer words of the sentence.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.answer_sources import (
    COLLECTIONS,
    LANGUAGES,
    NEAR,
    Asking,
    Question,
    names,
    opened,
    read_xquad,
)
from sleuth import Engine
from sleuth.answer.citations import SUPPORTED
from sleuth.answer.evidence import WORDS_AND_MEANING, WORDS_ONLY, Evidence
from sleuth.results import Grade

COVERAGE: Final = 0.65
"""Share of the answerable questions of the first half that the fitted threshold grades likely."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A question with what was quoted for it.

    Attributes:
        question: it.
        grade: of the quotes.
        evidence: for them.
        quotes: as they are shown.
    """

    question: Question
    grade: Grade
    evidence: Evidence
    quotes: Sequence[str]

    @property
    def is_right(self) -> bool:
        return self.question.is_in(self.quotes)


def asked(asking: Asking, question: Question) -> Graded:
    """Ask a question without a model."""
    assessment = asking.engine.synthesizer().assess(question.text, asking.items(question))
    return Graded(
        question, assessment.grade, assessment.evidence, [quote.text for quote in assessment.quotes]
    )


def share(rows: Sequence[Graded], grade: Grade) -> float:
    return sum(row.grade is grade for row in rows) / max(len(rows), 1)


def row(name: str, graded: Sequence[Graded]) -> str:
    """Return a row of the table."""
    real = [each for each in graded if each.question.answers]
    unreal = [each for each in graded if not each.question.answers]
    likely = [each for each in real if each.grade is Grade.LIKELY]
    right = sum(each.is_right for each in likely) / max(len(likely), 1)
    quoted = sum(each.is_right for each in real) / max(len(real), 1)
    cells = [
        f"{len(real)} + {len(unreal)}",
        f"{share(real, Grade.LIKELY):.2f}",
        f"{right:.2f}",
        f"{quoted:.2f}",
        f"{share(real, Grade.NOTHING_CLOSE):.2f}",
        f"{share(unreal, Grade.LIKELY):.2f}",
        f"{share(unreal, Grade.NOTHING_CLOSE):.2f}",
    ]
    return f"| {name} | {' | '.join(cells)} |"


HEAD: Final = (
    "| source | questions with + without answers | likely | of these right | right in any grade | nothing close "
    "| without answers: likely | nothing close |\n|---|---|---|---|---|---|---|---|"
)


def fit(graded: Sequence[Graded]) -> None:
    """Fit the weights on the half that takes part in choices, each source alike, and print them."""
    from sklearn.linear_model import LogisticRegression

    rows = [each for each in graded if each.quotes and not each.question.is_judged]
    x = np.array([astuple(each.evidence)[:-1] for each in rows])
    kinds = [(each.question.source, bool(each.question.answers)) for each in rows]
    weights = np.array([1 / np.sqrt(kinds.count(kind)) for kind in kinds])
    model = LogisticRegression(C=1.0, max_iter=3000).fit(
        x, [each.is_right for each in rows], weights / weights.mean()
    )
    real = np.array([bool(each.question.answers) for each in rows])
    likely = np.quantile(model.predict_proba(x)[real, 1], 1 - COVERAGE)
    print(
        "passage, held, meaning, lead, names, defines:",
        model.coef_[0].round(2),
        "bias:",
        model.intercept_.round(2),
    )
    print("likely from", likely.round(2))


def show(graded: Sequence[Graded]) -> None:
    for each in graded:
        if not each.question.is_judged:
            truth = "right" if each.is_right else "WRONG" if each.question.answers else "none"
            print(f"{truth} | {each.grade} | {each.question.text} | {'; '.join(each.question.answers)[:80]}")
            print(*(f"    {quote}" for quote in each.quotes), sep="\n")


def in_language(folder: Path, code: str, limit: int = 100) -> str:
    """Return a row for XQuAD's questions in a language, as they are and without their paragraph."""
    import tempfile

    documents, questions = read_xquad(folder, code)
    with tempfile.TemporaryDirectory() as path, Engine.open(path, create=True) as engine:
        engine.add(documents)
        asking = Asking(code, questions, engine)
        return row(f"XQuAD, {code}", [asked(asking, question) for question in questions[: 3 * limit]])


def by_model(asking: Asking, model: str, most: int) -> str:
    """Return the table row of one model: gold answers, citations, supported sentences, refusals."""
    results = [
        (question, asking.engine.search(question.text, 10, model=model, **asking.options(question)))
        for question in random.Random(1).sample(asking.questions, min(most, len(asking.questions)))
    ]
    real = [(question, result) for question, result in results if question.answers]
    unreal = [result for question, result in results if not question.answers]
    citations = [citation for _, result in results for citation in result.extra.get("citations", [])]
    cited = {citation["statement"] for citation in citations}
    supported = {citation["statement"] for citation in citations if citation["support"] >= SUPPORTED}
    statements = cited.union(*(result.extra.get("unsupported", []) for _, result in results))
    shares = (
        sum(question.is_in([result.response]) for question, result in real) / max(len(real), 1),
        sum(citation["support"] >= SUPPORTED for citation in citations) / max(len(citations), 1),
        len(supported) / max(len(statements), 1),
        sum(result.grade is Grade.NOTHING_CLOSE for _, result in real) / max(len(real), 1),
        sum(result.grade is Grade.NOTHING_CLOSE for result in unreal) / max(len(unreal), 1),
    )
    return (
        f"| {asking.name} | {len(real)} + {len(unreal)} | {' | '.join(f'{share:.2f}' for share in shares)} |"
    )


BY_MODEL: Final = (
    "| source | questions with + without answers | gold answer in the answer | citation precision "
    "| supported sentences (citation recall) | refused | without answers: refused |\n|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--xquad", type=Path, metavar="FOLDER", help="of github.com/google-deepmind/xquad")
    parser.add_argument("--pubmedqa", type=Path, metavar="FILE", help="ori_pqal.json of PubMedQA")
    parser.add_argument("--fit", action="store_true", help="fit the weights of the grader")
    parser.add_argument("--words", action="store_true", help="without vectors")
    parser.add_argument("--show", metavar="SOURCE", help="print the answers of one kind of source")
    parser.add_argument("--languages", action="store_true", help="ask XQuAD in other languages")
    parser.add_argument("--model", metavar="NAME", help="such as llama3.1 or openai:gpt-4o-mini")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="questions of a source for a model")
    parser.add_argument("--covidqa", type=Path, metavar="FILE", help="200423_covidQA.json of COVID-QA")
    parser.add_argument("--wikiqa", type=Path, metavar="FILE", help="WikiQA-test.tsv of WikiQA")
    parser.add_argument(
        "--rerank", metavar="NAME", help="a neural model of $SLEUTH_MODELS, as all-MiniLM-L6-v2"
    )
    parser.add_argument("--sources", nargs="+", metavar="NAME", help="ask only these kinds of sources")
    options = parser.parse_args()
    table_sources = (options.xquad, options.pubmedqa, options.covidqa, options.wikiqa)
    paths = {name: path for name, path in zip(COLLECTIONS, table_sources, strict=True) if path}
    print(BY_MODEL if options.model else HEAD)
    if options.model:
        for name in options.sources or names(paths):
            with opened(name, paths, rerank=options.rerank) as asking:
                print(by_model(asking, options.model, options.most), flush=True)
        return
    every: list[Graded] = []
    for name in [options.show] if options.show else options.sources or names(paths):
        with opened(name, paths, "" if options.words else None, options.rerank) as asking:
            graded = [asked(asking, question) for question in asking.questions]
        every += graded
        for half, judged in (("choice", False), ("judged", True)):
            part = [each for each in graded if each.question.is_judged == judged]
            print(*([row(f"{name}, {half}", part)] if part else []), flush=True)
    six = [each for each in every if each.question.source not in NEAR]
    for half, judged in (("choice", False), ("judged", True)):
        print(row(f"all, {half}", [each for each in six if each.question.is_judged == judged]))
    if options.show:
        show(every)
    if options.fit:
        print("shipped:", WORDS_ONLY if options.words else WORDS_AND_MEANING)
        fit(every)
    for code in LANGUAGES if options.languages and options.xquad else ():
        print(in_language(options.xquad, code), flush=True)


if __name__ == "__main__":
    main()
