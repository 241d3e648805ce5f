"""Questions with typing mistakes or in another language: is the first quote worse than the first hit of a search?

    python -m benchmarks.wordings [--xquad FOLDER]

Asks the guides in docs/ the questions of `data/wording_questions.json`; with the folder of XQuAD, also 20 of its
questions with a typing mistake, and 20 of each other language over the English paragraphs. An answer is worse if the
first hit holds the gold text, and the answer quotes nothing, or first another passage, which does not hold it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.answer_sources import LANGUAGES, plain, read_xquad, xquad_rows
from sleuth import Engine

GUIDES: Final = Path(__file__).parents[1] / "docs"
QUESTIONS: Final = Path(__file__).parent / "data" / "wording_questions.json"
ASKED: Final = 20


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a question gets.

    Attributes:
        question: it.
        is_hit: whether the first hit of a search holds the gold text.
        is_quoted: whether the passage of the first quote does.
        is_same: whether both are one passage.
        is_declined: whether nothing is quoted.
    """

    question: str
    is_hit: bool
    is_quoted: bool
    is_same: bool
    is_declined: bool

    @property
    def is_worse(self) -> bool:
        return self.is_hit and not self.is_quoted and not self.is_same


def compare(engine: Engine, question: str, answers: Sequence[str]) -> Comparison:
    """Search and ask."""
    hits = engine.retrieve(question, 1)
    result = engine.search(question, 10, "with_items")
    cited = result.used_source_ids[:1]
    quoted = [item.text for item in result.items or () if item.id in cited]
    is_hit, is_quoted = (
        any(plain(answer) in plain(text) for text in texts for answer in answers)
        for texts in ([hit.text for hit in hits], quoted)
    )
    return Comparison(question, is_hit, is_quoted, [hit.id for hit in hits] == cited, is_declined=not cited)


def own_questions() -> dict[str, list[tuple[str, list[str]]]]:
    """Return questions about the guides with their gold text, by the kind of their wording."""
    rows = json.loads(QUESTIONS.read_text("utf8"))
    return {kind: [(question, [answer]) for question, answer in rows[kind]] for kind in rows}


def mistyped(question: str, random: random.Random) -> str:
    """Return a question whose longest word lacks a letter, or has one twice."""
    words = question.split()
    place = max(range(len(words)), key=lambda i: len(words[i]))
    word = words[place]
    at = random.randrange(1, len(word) - 1)
    words[place] = word[:at] + word[at] * random.choice((0, 2)) + word[at + 1 :]
    return " ".join(words)


def row(name: str, every: Sequence[Comparison]) -> str:
    """Return a row of the table, and below it the questions with worse answers."""
    worse = [each for each in every if each.is_worse]
    counts = (
        len(every),
        sum(each.is_hit for each in every),
        sum(each.is_quoted for each in every),
        len(worse),
        sum(each.is_declined for each in worse),
    )
    questions = [f"  worse: {each.question}" for each in worse]
    return "\n".join([f"| {name} | {' | '.join(map(str, counts))} |", *questions])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--xquad", type=Path, metavar="FOLDER", help="of github.com/google-deepmind/xquad")
    folder = parser.parse_args().xquad
    print(
        "| questions | asked | gold text in the first hit | in that of the first quote | worse | of these declined |"
    )
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as path, Engine.open(path, create=True) as engine:
        engine.index([GUIDES / "how-to", GUIDES / "concepts"])
        for kind, pairs in own_questions().items():
            print(row(f"guides, {kind}", [compare(engine, *pair) for pair in pairs]), flush=True)
    if folder is not None:
        over_xquad(folder)


def over_xquad(folder: Path) -> None:
    """Print the rows of XQuAD."""
    documents, questions = read_xquad(folder)
    chooser = random.Random(3)
    sample = [each for each in questions if each.answers and not each.without][:ASKED]
    english = {
        each["id"]: [answer["text"] for answer in each["answers"]] for each in xquad_rows(folder, "en")
    }
    with tempfile.TemporaryDirectory() as path, Engine.open(path, create=True) as engine:
        engine.add(documents)
        typed = [compare(engine, mistyped(each.text, chooser), each.answers) for each in sample]
        print(row("XQuAD, typos", typed), flush=True)
        for code in LANGUAGES:
            rows = random.Random(3).sample(xquad_rows(folder, code), ASKED)
            comparisons = [compare(engine, each["question"], english[each["id"]]) for each in rows]
            print(row(f"XQuAD, {code} over en", comparisons), flush=True)


if __name__ == "__main__":
    main()
