"""What `sleuth ask` would reach with a reader: a model that reads the question and each of the best quotes together.

    python -m benchmarks.studies.reader_grades FOLDER [--xquad FOLDER] [--pubmedqa FILE] [--covidqa FILE]
        [--wikiqa FILE] [--sources NAME ...] [--likely 0.4 0.6]

FOLDER holds a cross-encoder in ONNX, such as `reader_training.py` writes. It reads the twelve best quotes of each
question of `benchmarks.answers`; what it says joins their scores, and is one more value of the grade. Weights are
fitted on the questions for choices; the others judge.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.answer_sources import COLLECTIONS, Asking, Question, names, opened
from benchmarks.answers import HEAD, Graded, row
from sleuth.answer import Sentence, score_sentences
from sleuth.answer.evidence import NO_EVIDENCE, Evidence, weigh_evidence
from sleuth.answer.extractive import passages_about
from sleuth.answer.quotes import choose
from sleuth.answer.words import page_of, readable
from sleuth.plugins.neural import OnnxCrossEncoder
from sleuth.results import Grade
from sleuth.types import RetrievedItem

READ: Final = 12
"""Quotes that are read."""
WORTH: Final = 0.4
"""What a reading of 1 is worth, in scores of the best sentence."""
QUOTES: Final = 3
MAY_HELP: Final = 0.12
"""Probability from which on quotes may help, as without a reader."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What is quoted for a question.

    Attributes:
        question: it.
        evidence: for the best quote.
        reading: how well one of the quotes answers, says the reader, 0 to 1.
        quotes: as they are shown.
    """

    question: Question
    evidence: Evidence = NO_EVIDENCE
    reading: float = 0.0
    quotes: Sequence[str] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """What a grade is computed from."""
        return (*astuple(self.evidence)[:-1], self.reading)

    def graded(self, probability: float, likely: float) -> Graded:
        """Return the question with its grade at this threshold."""
        if not self.quotes or probability < MAY_HELP:
            return Graded(self.question, Grade.NOTHING_CLOSE, self.evidence, self.quotes)
        is_likely = self.evidence.fits and probability >= likely
        grade = Grade.LIKELY if is_likely else Grade.MAY_HELP
        return Graded(self.question, grade, self.evidence, self.quotes)


def as_read(sentence: Sentence, quote: str, item: RetrievedItem) -> str:
    """Return a quote below the title of its page and the nearest heading."""
    title = readable(item)[0]
    heading = sentence.part.heading or page_of(item).removeprefix(title).strip()
    above = " ".join(each for each in (title, heading) if each)
    return f"{above}: {quote}" if above else quote


def read(asking: Asking, reader: OnnxCrossEncoder, question: Question) -> Reading:
    """Choose what to quote with a reader."""
    items = asking.items(question)
    writer: Any = asking.engine.synthesizer()
    text, analyze = question.text, writer.analyze
    sentences = score_sentences(text, items, analyze=analyze, embedder=writer.embedder)
    about = passages_about(text, items, analyze)
    sentences = [sentence for sentence in sentences if sentence.item in about]
    if not sentences:
        return Reading(question)
    widened = [choose(text, [sentence], items, 1, analyze=analyze)[0].text for sentence in sentences[:READ]]
    pairs = [
        (text, as_read(sentence, quote, items[sentence.item]))
        for sentence, quote in zip(sentences, widened, strict=False)
    ]
    readings = reader.predict(pairs).tolist()
    gain = WORTH * sentences[0].score
    first = [
        replace(sentence, score=sentence.score + gain * reading)
        for sentence, reading in zip(sentences, readings, strict=False)
    ]
    again = sorted([*first, *sentences[READ:]], key=attrgetter("score"), reverse=True)
    reading_of = {
        (each.item, each.part.start): value for each, value in zip(sentences, readings, strict=False)
    }
    quotes = choose(text, again, items, QUOTES, analyze=analyze)
    best = max(quotes, key=lambda quote: quote.sentence.score)
    evidence = weigh_evidence(
        text, items, best, analyze=analyze, rarity=writer.rarity, embedder=writer.embedder
    )
    places = [(quote.sentence.item, quote.sentence.part.start) for quote in quotes]
    highest = max(reading_of.get(place, 0.0) for place in places)
    return Reading(question, evidence, highest, [quote.text for quote in quotes])


def fit(rows: Sequence[Reading]) -> Any:
    """Return a logistic model of the questions for choices, each source alike."""
    from sklearn.linear_model import LogisticRegression

    rows = [each for each in rows if each.quotes and not each.question.is_judged]
    kinds = [(each.question.source, bool(each.question.answers)) for each in rows]
    weights = np.array([1 / np.sqrt(kinds.count(kind)) for kind in kinds])
    right = [each.question.is_in(each.quotes) for each in rows]
    values = np.array([each.values for each in rows])
    return LogisticRegression(max_iter=5000).fit(values, right, weights / weights.mean())


def print_table(rows: Sequence[Reading], probabilities: NDArray[np.float64], likely: float) -> None:
    print(f"\nlikely from {likely}\n\n{HEAD}")
    for source in dict.fromkeys(each.question.source for each in rows):
        for half, is_judged in (("choice", False), ("judged", True)):
            part = [
                each.graded(probability, likely)
                for each, probability in zip(rows, probabilities.tolist(), strict=True)
                if (each.question.source, each.question.is_judged) == (source, is_judged)
            ]
            print(*([row(f"{source}, {half}", part)] if part else []), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of the model")
    for option in ("--xquad", "--pubmedqa", "--covidqa", "--wikiqa"):
        parser.add_argument(option, type=Path, metavar="PATH", help="as of benchmarks.answers")
    parser.add_argument("--sources", nargs="+", metavar="NAME", help="ask only these kinds of sources")
    parser.add_argument("--likely", type=float, nargs="+", default=[0.4, 0.6], metavar="P")
    options = parser.parse_args()
    table_sources = (options.xquad, options.pubmedqa, options.covidqa, options.wikiqa)
    paths = {name: path for name, path in zip(COLLECTIONS, table_sources, strict=True) if path}
    reader = OnnxCrossEncoder(options.folder)
    rows: list[Reading] = []
    for name in options.sources or names(paths):
        with opened(name, paths) as asking:
            rows += [read(asking, reader, question) for question in asking.questions]
    model = fit(rows)
    print("passage, held, meaning, lead, names, defines, reading:", model.coef_[0].round(2))
    print("bias:", model.intercept_.round(2))
    probabilities = model.predict_proba(np.array([each.values for each in rows]))[:, 1]
    for likely in options.likely:
        print_table(rows, probabilities, likely)


if __name__ == "__main__":
    main()
