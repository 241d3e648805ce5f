"""Does what `sleuth ask` quotes hold the answer?

    python -m benchmarks.studies.answer_quotes [--show]

Questions about Python's language reference, which the interpreter brings (`data/python_reference.json`), and about
Sleuth's own guides (`data/guide_questions.json`), with the words that an answer must hold; those without such words
must be declined. Beside it: the best sentence by BM25 of the first passage. `--show` prints the answers.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sleuth import Document, Engine
from sleuth.answer import Weights, score_words, split_sentences
from sleuth.text import get_analyzer

ROOT: Final = Path(__file__).parents[2]
English = get_analyzer("english").tokens


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the texts of which an answer holds at least one; none if it must be declined."""

    text: str
    answers: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        plain = _plain(text)
        return any(_plain(answer) in plain for answer in self.answers)


@dataclass(frozen=True, slots=True)
class Quoted:
    """What one way of answering quotes for a question."""

    question: Question
    quotes: Sequence[str]


def _plain(text: str) -> str:
    return " ".join(text.replace("`", "").split()).casefold()


def questions(name: str, corpus: str) -> list[Question]:
    """Return the questions whose answers stand in the corpus, as versions word them, and those without answers."""
    rows = json.loads((ROOT / "benchmarks" / "data" / f"{name}.json").read_text("utf8"))
    every = [Question(row["question"], tuple(row["answers"])) for row in rows]
    return [question for question in every if not question.answers or question.is_in(corpus)]


def by_first_passage(engine: Engine, question: Question) -> Quoted:
    """Quote the best sentence of the first passage, by BM25."""
    passage = engine.retrieve(question.text, 1)[0]
    spans = split_sentences(passage.text)
    texts = [passage.text[start:end] for start, end in spans] or [passage.text]
    scores = score_words(English(question.text), [English(text) for text in texts], Weights(pairs=0))
    return Quoted(question, [texts[scores.index(max(scores))]])


def by_sleuth(engine: Engine, question: Question) -> Quoted:
    result = engine.search(question.text, 8)
    return Quoted(question, [citation["statement"] for citation in result.extra["citations"]])


def row(quoted: Sequence[Quoted]) -> str:
    """Return the cells of a table: shares of questions, characters of an answer."""
    real = [each for each in quoted if each.question.answers]
    foreign = [each for each in quoted if not each.question.answers]
    first = sum(any(map(each.question.is_in, each.quotes[:1])) for each in real) / len(real)
    every = sum(any(map(each.question.is_in, each.quotes)) for each in real) / len(real)
    length = sum(len(quote) for each in real for quote in each.quotes) / len(real)
    wrongly = sum(not each.quotes for each in real) / len(real)
    rightly = f"{sum(not each.quotes for each in foreign)} of {len(foreign)}" if foreign else ""
    return f"{first:.2f} | {every:.2f} | {length:.0f} | {wrongly:.2f} | {rightly}"


def measure(engine: Engine, name: str, corpus: str, *, show: bool) -> None:
    asked = questions(name, corpus)
    answered = [by_sleuth(engine, question) for question in asked]
    print(f"| {name} | BM25 | {row([by_first_passage(engine, question) for question in asked])} |")
    print(f"| {name} | `sleuth ask` | {row(answered)} |", flush=True)
    for each in answered if show else ():
        right = any(map(each.question.is_in, each.quotes)) if each.question.answers else not each.quotes
        print(f"{'ok   ' if right else 'WRONG'} {each.question.text}", *each.quotes, sep="\n    ")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="print the answers")
    show = parser.parse_args().show
    from pydoc_data.topics import topics

    print("| questions | by | in the first quote | in all | characters | declined wrongly | rightly |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
        engine.add(Document(text, {"source": name, "type": "rst"}) for name, text in topics.items())
        measure(engine, "python_reference", " ".join(topics.values()), show=show)
    guides = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
        engine.index(guides)
        measure(engine, "guide_questions", " ".join(path.read_text("utf8") for path in guides), show=show)


if __name__ == "__main__":
    main()
