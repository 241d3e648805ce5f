"""Does `sleuth ask` decline what the corpus does not answer, and does what it quotes hold the answer?

    python -m benchmarks.answers [--fit]

Quoting: questions about Python's language reference, which the interpreter brings, with the words that an answer must
hold (`data/python_reference.json`), beside the best sentence by BM25 of the first passage.

Declining: each question of XQuAD is asked twice, as it is and with its paragraph taken away, so that near misses are
left; questions of other collections are asked as foreign ones. `--fit` fits the threshold anew, on half of the
articles, and judges it on the others, in turn. Collections: `.data/`, BEIR layout.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

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


def measure(name: str, *, embedder: bool, limit: int = 1200) -> tuple[dict[str, Rows], list[str]]:
    """Evidence for questions as they are, without their passages, and foreign ones; titles of the first."""
    docs, queries, relevant = load(name)
    ids = sorted(queries)
    random.Random(1).shuffle(ids)
    ids = ids[:limit]
    bags = {doc["_id"]: frozenset(English(f"{doc.get('title', '')} {doc['text']}")) for doc in docs}
    df = Counter(term for bag in bags.values() for term in bag)
    titles = {doc["_id"]: doc.get("title", "") for doc in docs}
    foreign = []
    for other in FOREIGN:
        if other != name:
            asked = sorted(load(other)[1].items())
            foreign += [text for _, text in random.Random(2).sample(asked, min(60, len(asked)))]
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

        for id in ids:
            rows["answerable"].append(ask(queries[id]))
            rows["taken away"].append(ask(queries[id], relevant[id] & bags.keys()))
        rows["foreign"] = [ask(question) for question in foreign]
    articles = [titles[min(relevant[id])] for id in ids]
    return {kind: np.array([astuple(e) for e in found]) for kind, found in rows.items()}, articles


def fit(answerable: Rows, unanswerable: Rows) -> Threshold:
    """A logistic regression whose threshold declines one in twenty of the answerable questions."""
    from sklearn.linear_model import LogisticRegression

    x = np.vstack([answerable, unanswerable])
    y = np.r_[np.ones(len(answerable)), np.zeros(len(unanswerable))]
    model = LogisticRegression(C=10.0, max_iter=1000).fit(x, y)
    bias = -float(np.quantile(answerable @ model.coef_[0], 0.048))
    passage, sentence, meaning, lead = map(float, model.coef_[0])
    return Threshold(passage, sentence, meaning, lead, bias)


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
    for name in options.sets:
        for embedder, default in ((True, WORDS_AND_MEANING), (False, WORDS_ONLY)):
            rows, articles = measure(name, embedder=embedder)
            legs = "words and meaning" if embedder else "words"
            print(f"| {name} | {legs} | as shipped | {cells(default, rows)} |", flush=True)
            if options.fit:
                names = sorted(set(articles))
                for fold in (0, 1):
                    half = set(names[fold::2])
                    train = np.array([article in half for article in articles])
                    threshold = fit(rows["answerable"][train], rows["taken away"][train])
                    print(
                        f"| {name} | {legs} | fitted on the other half | {cells(threshold, rows, ~train)} |"
                    )
                print("fitted on all:", fit(rows["answerable"], rows["taken away"]), flush=True)


if __name__ == "__main__":
    main()
