"""Do answers without a model hold what was asked for, and are their grades true?

    python -m benchmarks.answers FOLDER [--show] [--model NAME [--most N]]

Asks the questions of `tests/answer/questions.toml` about six public corpora. FOLDER holds a folder for each by its
name: a checkout of the repository at the commit that the file names. The first table counts how often the first hit,
the quote and the whole answer hold the expected words, and what was likely, also of what no page answers; the second
one has the verdicts of a person, who read the answers of the version that the file belongs to. `--show` prints the
answers for reading. `--model` lets a model answer N questions of each corpus instead, and measures its citations
without a judge: one is right if its passage holds half of the numbers and longer words of the sentence.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sleuth import Engine, index_path, open_code, open_sources
from sleuth.answer.citations import SUPPORTED
from sleuth.results import Grade, SearchResult

QUESTIONS: Final = Path(__file__).parents[1] / "tests" / "answer" / "questions.toml"
CODE: Final = ".py"
"""How files end that are indexed as code."""
VERDICTS: Final = ("right", "partly", "wrong", "declined")


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        text: the question.
        answers: phrases of which a right answer shows one; none if the corpus does not answer it.
        verdict: of a person on the answer, with "likely" before it where that was its grade; "" for none.
        is_silent: whether a page of the corpus is about it and does not answer it.
    """

    text: str
    answers: tuple[str, ...]
    verdict: str = ""
    is_silent: bool = False

    def is_in(self, *texts: str) -> bool:
        """Return whether one of these texts holds the answer."""
        return any(_plain(answer) in _plain(text) for answer in self.answers for text in texts)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A public corpus with its questions.

    Attributes:
        files: patterns of its files.
        part: "fit" for those that chose the numbers of the grade, "check" for those that judge them.
    """

    name: str
    files: Sequence[str]
    part: str
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer."""

    question: Question
    result: SearchResult

    @property
    def first_holds(self) -> bool:
        return self.question.is_in(*(item.text for item in (self.result.items or ())[:1]))

    @property
    def quote_holds(self) -> bool:
        lines = self.result.response.splitlines()
        return self.question.is_in("\n".join(line for line in lines if not line.startswith("- ")))

    @property
    def answer_holds(self) -> bool:
        return self.question.is_in(self.result.response)

    @property
    def is_likely(self) -> bool:
        return self.result.grade is Grade.LIKELY


def _plain(text: str) -> str:
    for sign in ("`", "*", "_", "\n> "):
        text = text.replace(sign, " " if sign == "\n> " else "")
    return " ".join(text.split()).casefold()


def corpora() -> list[Corpus]:
    """Return the corpora that the file of questions names."""
    rows = tomllib.loads(QUESTIONS.read_text("utf8"))["corpora"]
    return [
        Corpus(
            row["name"],
            row["files"],
            row["part"],
            [
                Question(text, tuple(answer.split(" | ")) if answer else (), verdict, key == "silent")
                for key in ("questions", "silent")
                for text, answer, _, verdict in row[key]
            ],
        )
        for row in rows
    ]


@contextmanager
def opened(corpus: Corpus, folder: Path) -> Iterator[Any]:
    """Index the files of a corpus, documents and code, in a folder of its own that is removed at the end."""
    with ExitStack() as stack:
        index = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "index"
        documents = [pattern for pattern in corpus.files if not pattern.endswith(CODE)]
        engine = stack.enter_context(Engine.open(index, create=True))
        engine.index(sorted(path for pattern in documents for path in folder.glob(pattern)))
        if len(documents) == len(corpus.files):
            yield engine
            return
        with open_code(index, create=True) as storage:
            for pattern in set(corpus.files) - set(documents):
                index_path(storage, folder / pattern.partition("/")[0], workers=1)
        yield stack.enter_context(open_sources(index, ["docs", "code"]))


def ask(corpus: Corpus, folder: Path) -> list[Answered]:
    """Ask all questions of a corpus."""
    with opened(corpus, folder / corpus.name) as engine:
        return [
            Answered(question, engine.search(question.text, 10, "with_items"))
            for question in corpus.questions
        ]


HEAD: Final = (
    "| corpus | questions + unanswerable + silent | the first hit holds it | the quote | the answer | likely "
    "| of these the answer holds it | unanswerable: likely | silent: likely |\n|---|---|---|---|---|---|---|---|---|"
)


def row(name: str, answered: Sequence[Answered]) -> str:
    """Return a row of the table that needs no person."""
    real = [each for each in answered if each.question.answers]
    silent = [each for each in answered if each.question.is_silent]
    likely = [each for each in real if each.is_likely]
    silent_likely = sum(each.is_likely for each in silent)
    cells = (
        f"{len(real)} + {len(answered) - len(real) - len(silent)} + {len(silent)}",
        sum(each.first_holds for each in real),
        sum(each.quote_holds for each in real),
        sum(each.answer_holds for each in real),
        len(likely),
        sum(each.answer_holds for each in likely),
        sum(each.is_likely for each in answered) - len(likely) - silent_likely,
        silent_likely,
    )
    return f"| {name} | {' | '.join(map(str, cells))} |"


BY_HAND: Final = (
    "| corpus | right | partly | wrong | declined | likely | of these right or partly |\n"
    "|---|---|---|---|---|---|---|"
)


def verdicts_row(name: str, questions: Iterable[Question]) -> str:
    """Return a row of the verdicts on answerable questions."""
    verdicts = [question.verdict for question in questions if question.answers]
    counts = [sum(verdict.endswith(name) for verdict in verdicts) for name in VERDICTS]
    likely = [verdict for verdict in verdicts if verdict.startswith("likely")]
    helpful = sum(verdict.endswith(VERDICTS[:2]) for verdict in likely)
    return f"| {name} | {' | '.join(map(str, [*counts, len(likely), helpful]))} |"


def by_model(name: str, engine: Any, questions: Sequence[Question], model: str, most: int) -> str:
    """Return the table row of one model: gold answers, citations, supported sentences, refusals."""
    results = [
        (question, engine.search(question.text, 10, model=model))
        for question in random.Random(1).sample(list(questions), min(most, len(questions)))
    ]
    real = [(question, result) for question, result in results if question.answers]
    unreal = [result for question, result in results if not question.answers]
    citations = [citation for _, result in results for citation in result.extra.get("citations", [])]
    cited = {citation["statement"] for citation in citations}
    supported = {citation["statement"] for citation in citations if citation["support"] >= SUPPORTED}
    statements = cited.union(*(result.extra.get("unsupported", []) for _, result in results))
    shares = (
        sum(question.is_in(result.response) for question, result in real) / max(len(real), 1),
        sum(citation["support"] >= SUPPORTED for citation in citations) / max(len(citations), 1),
        len(supported) / max(len(statements), 1),
        sum(result.grade is Grade.NOTHING_CLOSE for _, result in real) / max(len(real), 1),
        sum(result.grade is Grade.NOTHING_CLOSE for result in unreal) / max(len(unreal), 1),
    )
    return f"| {name} | {len(real)} + {len(unreal)} | {' | '.join(f'{share:.2f}' for share in shares)} |"


BY_MODEL: Final = (
    "| corpus | questions + unanswerable | gold answer in the answer | citation precision "
    "| supported sentences (citation recall) | refused | unanswerable: refused |\n|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="with a folder for each corpus")
    parser.add_argument("--show", action="store_true", help="print the answers")
    parser.add_argument("--model", metavar="NAME", help="such as llama3.1 or openai:gpt-4o-mini")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="questions of a corpus for a model")
    options = parser.parse_args()
    if options.model:
        print(BY_MODEL)
        for corpus in corpora():
            with opened(corpus, options.folder / corpus.name) as engine:
                print(by_model(corpus.name, engine, corpus.questions, options.model, options.most))
        return
    parts: dict[str, list[Answered]] = {"fit": [], "check": []}
    print(HEAD)
    for corpus in corpora():
        answered = ask(corpus, options.folder)
        parts[corpus.part] += answered
        print(row(corpus.name, answered), flush=True)
        for each in answered if options.show else ():
            print(f"\n{each.question.text} | {each.result.grade}\n{each.result.response}")
    for part, answered in parts.items():
        print(row(f"those that {part}", answered))
    print(row("all", [each for answered in parts.values() for each in answered]), f"\n\n{BY_HAND}")
    for corpus in corpora():
        print(verdicts_row(corpus.name, corpus.questions))
    print(verdicts_row("all", (question for corpus in corpora() for question in corpus.questions)))


if __name__ == "__main__":
    main()
