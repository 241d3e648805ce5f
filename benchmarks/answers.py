"""Does `sleuth ask` decline what the corpus does not answer, and does what it quotes hold the answer?

    python -m benchmarks.answers [--fit]

Quoting: questions about Python's language reference, which the interpreter brings, with the words that an answer must
hold (`data/python_reference.json`), beside the best sentence by BM25 of the first passage.

Declining: each question of XQuAD is asked twice, as it is and with its paragraph taken away, so that near misses are
left; questions of other collections are asked as foreign ones. The same is asked of each article alone, an index of
five paragraphs. `--fit` fits the threshold anew, on half of the articles, and judges it on the others, in turn.
Collections: `.data/`, BEIR layout.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.sentence_choice import load
from sleuth import Document, Engine
from sleuth.answer import (
    WORDS_AND_MEANING,
    WORDS_ONLY,
    Evidence,
    Threshold,
    Weights,
    score_words,
    split_sentences,
    weigh_evidence,
)
from sleuth.lexical import bm25_idf
from sleuth.text import get_analyzer

FOREIGN = ("scifact", "checkthat2020", "climatefever_sents", "cacm")
English = get_analyzer("english").tokens
Rows = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Measured:
    """Evidence for questions as they are, without their passages, and foreign ones.

    Attributes:
        rows: by kind of question.
        articles: of each answerable question, in order.
    """

    rows: dict[str, Rows]
    articles: list[str]


def measure(name: str, *, embedder: bool, limit: int = 1200) -> Measured:
    """Measure the evidence over a whole collection."""
    docs, queries, relevant = load(name)
    ids = sorted(queries)
    random.Random(1).shuffle(ids)
    foreign = []
    for other in FOREIGN:
        if other != name:
            asked = sorted(load(other)[1].items())
            foreign += [text for _, text in random.Random(2).sample(asked, min(60, len(asked)))]
    titles = {doc["_id"]: doc.get("title", "") for doc in docs}
    ids = ids[:limit]
    rows = weigh(docs, {id: queries[id] for id in ids}, relevant, foreign, embedder=embedder)
    return Measured(rows, [titles[min(relevant[id])] for id in ids])


def measure_articles(*, embedder: bool, each: int = 12) -> Measured:
    """Measure the evidence over each article of XQuAD alone: five paragraphs, with questions about the others."""
    docs, queries, relevant = load("xquad_en")
    article = {doc["_id"]: doc["title"] for doc in docs}
    about: dict[str, list[str]] = defaultdict(list)
    for id in sorted(queries):
        about[article[min(relevant[id])]].append(id)
    parts = []
    articles = []
    for number, title in enumerate(sorted(about)):
        chance = random.Random(number)
        ids = chance.sample(about[title], min(each, len(about[title])))
        others = [id for other in sorted(about) if other != title for id in about[other]]
        foreign = [queries[id] for id in chance.sample(others, each)]
        own = [doc for doc in docs if doc["title"] == title]
        parts.append(weigh(own, {id: queries[id] for id in ids}, relevant, foreign, embedder=embedder))
        articles += [title] * len(ids)
    return Measured({kind: np.vstack([part[kind] for part in parts]) for kind in parts[0]}, articles)


def weigh(
    docs: list[dict[str, Any]],
    queries: dict[str, str],
    relevant: dict[str, set[str]],
    foreign: list[str],
    *,
    embedder: bool,
) -> dict[str, Rows]:
    """Return the evidence that an index of these documents has for each question, by kind of question."""
    bags = {doc["_id"]: frozenset(English(f"{doc.get('title', '')} {doc['text']}")) for doc in docs}
    df = Counter(term for bag in bags.values() for term in bag)
    rows: dict[str, list[Evidence]] = {"answerable": [], "taken away": [], "foreign": []}
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
        engine.add(
            Document(doc["text"], {"title": doc.get("title", ""), "doc": doc["_id"]}, id=doc["_id"])
            for doc in docs
        )

        def ask(question: str, without: Iterable[str] = ()) -> Evidence:
            gone = sorted(without)

            def rarity(terms: Iterable[str]) -> dict[str, float]:
                n = len(docs) - len(gone)
                return {t: bm25_idf(df[t] - sum(t in bags[id] for id in gone), n) for t in terms}

            items = list(engine.retrieve(question, 8, filter={"doc": {"$nin": gone}} if gone else None))
            model = engine.embedder if embedder else None
            return weigh_evidence(question, items, analyze=English, rarity=rarity, embedder=model)

        for id, question in queries.items():
            rows["answerable"].append(ask(question))
            rows["taken away"].append(ask(question, relevant[id] & bags.keys()))
        rows["foreign"] = [ask(question) for question in foreign]
    return {kind: np.array([astuple(e) for e in measured]) for kind, measured in rows.items()}


def fit(answerable: Rows, unanswerable: Rows) -> Threshold:
    """A logistic regression whose threshold declines 45 in a thousand of the answerable questions."""
    from sklearn.linear_model import LogisticRegression

    x = np.vstack([answerable, unanswerable])
    y = np.r_[np.ones(len(answerable)), np.zeros(len(unanswerable))]
    model = LogisticRegression(C=10.0, max_iter=1000).fit(x, y)
    bias = -float(np.quantile(answerable @ model.coef_[0], 0.045))
    passage, sentence, meaning, lead, names = map(float, model.coef_[0])
    return Threshold(passage, sentence, meaning, lead, names, bias)


def declined(threshold: Threshold, rows: Rows) -> float:
    return float(np.mean([threshold.probability(Evidence(*row)) < 0.5 for row in rows]))


def cells(threshold: Threshold, rows: dict[str, Rows], keep: NDArray[np.bool_] | None = None) -> str:
    chosen = {k: v[keep] if keep is not None and k != "foreign" else v for k, v in rows.items()}
    return " | ".join(f"{declined(threshold, chosen[kind]):.3f}" for kind in chosen)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the texts of which an answer holds at least one."""

    text: str
    answers: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        plain = " ".join(text.split()).casefold()
        return any(" ".join(answer.split()).casefold() in plain for answer in self.answers)


def reference_questions(corpus: str) -> list[Question]:
    """The questions whose answers stand in this interpreter's reference; versions word it differently."""
    rows = json.loads((Path(__file__).parent / "data" / "python_reference.json").read_text("utf8"))
    questions = [Question(row["question"], tuple(row["answers"])) for row in rows]
    return [question for question in questions if question.is_in(corpus)]


def quote_reference() -> None:
    """Print how often the answer is in what is quoted, by ours and by the best sentence of the first passage."""
    from pydoc_data.topics import topics

    questions = reference_questions(" ".join(topics.values()))
    totals: dict[str, list[float]] = {"the best sentence of the first passage, by BM25": [], "sleuth ask": []}
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
        engine.add(Document(text, {"source": name, "type": "rst"}) for name, text in topics.items())
        for question in questions:
            passage = next(iter(engine.retrieve(question.text, 1)))
            spans = split_sentences(passage.text)
            texts = [passage.text[start:end] for start, end in spans] or [passage.text]
            scores = score_words(English(question.text), [English(text) for text in texts], Weights(pairs=0))
            best = texts[scores.index(max(scores))]
            totals["the best sentence of the first passage, by BM25"] += [
                question.is_in(best), question.is_in(best), len(best), 0
            ]  # fmt: skip
            result = engine.search(question.text)
            quotes = [citation["statement"] for citation in result.extra["citations"]]
            totals["sleuth ask"] += [
                any(question.is_in(quote) for quote in quotes[:1]),
                any(question.is_in(quote) for quote in quotes),
                sum(map(len, quotes)),
                not quotes,
            ]
    print(
        f"\n| {len(questions)} questions | answer in the first quote | in all quotes | characters | declined |"
    )
    print("|---|---|---|---|---|")
    for name, values in totals.items():
        first, every, length, refused = np.array(values, float).reshape(-1, 4).mean(axis=0)
        print(f"| {name} | {first:.2f} | {every:.2f} | {length:.0f} | {refused:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fit", action="store_true", help="fit the threshold on half of the articles, in turn"
    )
    parser.add_argument("--sets", nargs="+", default=["xquad_en"])
    options = parser.parse_args()
    quote_reference()
    print("\n| set | legs | threshold | answerable declined | taken away declined | foreign declined |")
    print("|---|---|---|---|---|---|")
    for embedder, default in ((True, WORDS_AND_MEANING), (False, WORDS_ONLY)):
        legs = "words and meaning" if embedder else "words"
        sets = {name: measure(name, embedder=embedder) for name in options.sets}
        sets["each article of XQuAD"] = measure_articles(embedder=embedder)
        for name, measured in sets.items():
            print(f"| {name} | {legs} | as shipped | {cells(default, measured.rows)} |", flush=True)
        if options.fit:
            judge(sets, legs)


def judge(sets: dict[str, Measured], legs: str) -> None:
    """Fit the threshold on half of the articles of all sets and judge it on the others, in turn; then fit it on all."""
    names = sorted({article for measured in sets.values() for article in measured.articles})

    def rows(kind: str, half: set[str]) -> Rows:
        return np.vstack(
            [
                measured.rows[kind][[article in half for article in measured.articles]]
                for measured in sets.values()
            ]
        )

    for fold in (0, 1):
        half = set(names[fold::2])
        threshold = fit(rows("answerable", half), rows("taken away", half))
        for name, measured in sets.items():
            others = np.array([article not in half for article in measured.articles])
            print(
                f"| {name} | {legs} | fitted on the other half | {cells(threshold, measured.rows, others)} |"
            )
    print("fitted on all:", fit(rows("answerable", set(names)), rows("taken away", set(names))), flush=True)


if __name__ == "__main__":
    main()
