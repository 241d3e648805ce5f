"""Does `sleuth ask` decline what the corpus does not answer?

    python -m benchmarks.answers [--fit] [--languages FOLDER]    # xquad.de.json ... of github.com/deepmind/xquad

Each question of XQuAD is asked twice, as it is and with its paragraph taken away, so that near misses are left;
questions of other collections are asked as foreign ones. The same is asked of each article alone, an index of five
paragraphs. Further collections are judged by the shipped threshold alone; of their questions, those count whose first
passage is relevant. `--fit` fits the threshold anew, on half of the articles, and judges it on the others, in turn.
Collections: `.data/`, BEIR layout; `.data/made`: `benchmarks.collections`.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.languages import read
from benchmarks.sentence_choice import load
from sleuth import Document, Engine
from sleuth.answer import WORDS_AND_MEANING, WORDS_ONLY, Evidence, Threshold, weigh_evidence
from sleuth.lexical import bm25_idf
from sleuth.text import get_analyzer

FOREIGN = ("scifact", "checkthat2020", "climatefever_sents", "xquad_en")
OTHERS = ("made/python_questions", "made/perl_questions", "made/handbook_en", "scifact")
LANGUAGES = ("de", "es", "ro", "ru", "tr")
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
    """Measure the evidence over a whole collection; but for XQuAD, over questions whose first passage is relevant."""
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
    chosen = {id: queries[id] for id in ids}
    rows = weigh(docs, chosen, relevant, foreign, embedder=embedder, answered_only=name != "xquad_en")
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
    answered_only: bool = False,
) -> dict[str, Rows]:
    """Return the evidence that an index of these documents has for each question, by kind of question.

    Args:
        answered_only: leave out questions whose first passage is not relevant, which it cannot answer.
    """
    bags = {doc["_id"]: frozenset(English(f"{doc.get('title', '')} {doc['text']}")) for doc in docs}
    df = Counter(term for bag in bags.values() for term in bag)
    rows: dict[str, list[Evidence]] = {"answerable": [], "taken away": [], "foreign": []}
    model = None if embedder else ""
    with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True, embedder=model) as engine:
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
            return weigh_evidence(question, items, analyze=English, rarity=rarity, embedder=engine.embedder)

        for id, question in queries.items():
            if answered_only and engine.retrieve(question, 1)[0].metadata["doc"] not in relevant[id]:
                continue
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--fit", action="store_true", help="fit the threshold on half of the articles, in turn"
    )
    parser.add_argument("--others", nargs="*", default=OTHERS, help="further collections")
    parser.add_argument("--languages", type=Path, metavar="FOLDER", help="XQuAD in other languages")
    options = parser.parse_args()
    print("| index | compares | threshold | answerable declined | taken away declined | foreign declined |")
    print("|---|---|---|---|---|---|")
    for embedder, default in ((True, WORDS_AND_MEANING), (False, WORDS_ONLY)):
        legs = "words and meaning" if embedder else "words"
        sets = {
            "XQuAD": measure("xquad_en", embedder=embedder),
            "each article": measure_articles(embedder=embedder),
        }
        for name, measured in sets.items():
            print(f"| {name} | {legs} | as shipped | {cells(default, measured.rows)} |", flush=True)
        if options.fit:
            judge(sets, legs)
        for name in options.others:
            rows = measure(name, embedder=embedder, limit=200).rows
            asked = {kind: rows[kind] for kind in ("answerable", "foreign")}
            answerable, foreign = cells(default, asked).split(" | ")
            print(f"| {name} | {legs} | as shipped | {answerable} | | {foreign} |", flush=True)
    if options.languages:
        for code in LANGUAGES:
            print(
                f"| XQuAD, {code} | words | as shipped | {in_language(options.languages, code)} | |",
                flush=True,
            )


def judge(sets: dict[str, Measured], legs: str) -> None:
    """Fit the threshold on half of the articles of all sets and judge it on the others; then fit it on all.

    Prints means over ten halves, with the standard deviation.
    """
    names = sorted({article for measured in sets.values() for article in measured.articles})

    def rows(kind: str, half: set[str]) -> Rows:
        return np.vstack(
            [
                measured.rows[kind][[article in half for article in measured.articles]]
                for measured in sets.values()
            ]
        )

    judged: dict[str, list[list[float]]] = defaultdict(list)
    for seed in range(5):
        shuffled = random.Random(seed).sample(names, len(names))
        for half in (set(shuffled[::2]), set(shuffled[1::2])):
            threshold = fit(rows("answerable", half), rows("taken away", half))
            for name, measured in sets.items():
                others = np.array([article not in half for article in measured.articles])
                judged[name].append([float(x) for x in cells(threshold, measured.rows, others).split(" | ")])
    for name, shares in judged.items():
        means, spread = np.mean(shares, axis=0), np.std(shares, axis=0)
        columns = " | ".join(f"{mean:.3f} ± {each:.3f}" for mean, each in zip(means, spread, strict=True))
        print(f"| {name} | {legs} | fitted on the other half | {columns} |")
    print("fitted on all:", fit(rows("answerable", set(names)), rows("taken away", set(names))), flush=True)


def in_language(folder: Path, code: str, limit: int = 200) -> str:
    """Return which shares of XQuAD's questions in a language are declined, as they are and without their paragraph."""
    collection = read(folder / f"xquad.{code}.json", code, "paragraph")
    questions = random.Random(1).sample(collection.questions, limit)
    with tempfile.TemporaryDirectory() as path, Engine.open(path, create=True) as engine:
        engine.add(Document(text, {"doc": id}, id=id) for id, text in collection.passages.items())
        answered = [engine.search(question, 8).extra["answered"] for question, _ in questions]
        left = [
            engine.search(question, 8, filter={"doc": {"$ne": id}}).extra["answered"]
            for question, id in questions
        ]
    return f"{1 - np.mean(answered):.3f} | {1 - np.mean(left):.3f}"


if __name__ == "__main__":
    main()
