"""Which sentences does the extractive answer choose, and are they the right ones?

    python benchmarks/sentence_choice.py [--queries N]

Claims of Climate-FEVER against their evidence sentences: articles are cut into passages of five sentences,
the engine finds ten, and each variant ranks all their sentences. A sentence counts where it was judged to be
evidence. XQuAD and SciFact have no judged sentences: there a sentence counts if it is in the right
paragraph or abstract. That favours variants that trust the first passage, so these two can only warn. Collections:
`.data/`, BEIR layout.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sleuth.answer import score_sentences, split_sentences
from sleuth.answer.extract import Weights
from sleuth.answer.words import plain_words
from sleuth.dense import WordLlamaEmbedder
from sleuth.engine import Engine
from sleuth.protocols import Embedder
from sleuth.text import get_analyzer
from sleuth.types import Document, RetrievedItem

DATA = Path(__file__).parents[1] / ".data"
Rank = Callable[[str, Sequence[RetrievedItem]], list[tuple[int, str]]]
Judge = Callable[[str, RetrievedItem, str], bool]


def load(name: str) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, set[str]]]:
    """Documents, queries that have judgements, and the relevant ids of each."""
    folder = DATA / name
    docs = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    relevant: dict[str, set[str]] = defaultdict(set)
    for split in sorted((folder / "qrels").iterdir()):
        for row in csv.DictReader(split.open(encoding="utf-8"), delimiter="\t"):
            if int(row["score"]) > 0:
                relevant[row["query-id"]].add(row["corpus-id"])
    queries = map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))
    return docs, {q["_id"]: q["text"] for q in queries if q["_id"] in relevant}, relevant


def climate() -> tuple[list[Document], dict[str, str], Judge]:
    docs, queries, relevant = load("climatefever_sents")
    articles: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for doc in docs:
        articles[doc["title"]].append((int(doc["_id"].rpartition(":")[2]), doc["_id"], doc["text"]))
    passages, ids = [], {}
    for title, rows in articles.items():
        rows.sort()
        for start in range(0, len(rows), 5):
            part = rows[start : start + 5]
            ids.update({(f"{title}:{start}", " ".join(text.split())): id for _, id, text in part})
            text = "\n\n".join(" ".join(text.split()) for _, _, text in part)
            passages.append(Document(text, {"title": title, "passage": f"{title}:{start}"}))
    for number, passage in enumerate(passages):
        passage.id = f"p{number}"

    def judge(query: str, item: RetrievedItem, sentence: str) -> bool:
        return ids.get((item.metadata["passage"], sentence)) in relevant[query]

    return passages, queries, judge


def whole(name: str) -> tuple[list[Document], dict[str, str], Judge]:
    docs, queries, relevant = load(name)
    documents = [
        Document(d["text"], {"title": d.get("title", ""), "doc": d["_id"]}, id=d["_id"]) for d in docs
    ]

    def judge(query: str, item: RetrievedItem, sentence: str) -> bool:
        return item.metadata["doc"] in relevant[query]

    return documents, queries, judge


def in_order(question: str, items: Sequence[RetrievedItem]) -> list[tuple[int, str]]:
    """Return the sentences in their order, as an answer from the first passage would."""
    return [(n, item.text[a:b]) for n, item in enumerate(items) for a, b in split_sentences(item.text)]


def shared_words(question: str, items: Sequence[RetrievedItem]) -> list[tuple[int, str]]:
    """By the number of distinct words shared with the question."""
    sentences = in_order(question, items)
    words, *words_of = map(set, plain_words([question, *(text for _, text in sentences)]))
    shared = [len(words & others) for others in words_of]
    return [sentences[place] for place in sorted(range(len(sentences)), key=lambda place: -shared[place])]


def scored(
    analyze: Callable[[Sequence[str]], list[list[str]]], embedder: Embedder | None = None, **weights: float
) -> Rank:
    def rank(question: str, items: Sequence[RetrievedItem]) -> list[tuple[int, str]]:
        ranking = score_sentences(
            question, items, analyze=analyze, embedder=embedder, weights=Weights(**weights)
        )
        return [(sentence.item, sentence.text) for sentence in ranking]

    return rank


def measure(
    rank: Rank, judge: Judge, questions: dict[str, str], items: dict[str, list[RetrievedItem]]
) -> list[float]:
    """Mean precision of the first sentence and of three, and nDCG@10 over the sentences that were within
    reach.
    """
    totals = [0.0, 0.0, 0.0]
    for id, question in questions.items():
        hits = [judge(id, items[id][n], " ".join(text.split())) for n, text in rank(question, items[id])]
        reachable = sum(
            judge(id, items[id][n], " ".join(t.split())) for n, t in in_order(question, items[id])
        )
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, reachable)))
        gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
        totals[0] += sum(hits[:1])
        totals[1] += sum(hits[:3]) / 3
        totals[2] += gain / ideal if ideal else 0.0
    return [total / len(questions) for total in totals]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--queries", type=int, default=None, help="only the first N of each collection")
    limit = parser.parse_args().queries
    english = get_analyzer("english").words_of_each
    variants: dict[str, Rank] = {
        "the passages as they stand": in_order,
        "words shared": shared_words,
        "BM25 over sentences, plain words": scored(plain_words, passage=0, pairs=0),
        "BM25 over sentences, English stems": scored(english, passage=0, pairs=0),
        "+ rank of the passage": scored(english, pairs=0),
        "+ pairs of words (without an embedder)": scored(english),
        "+ meaning, WordLlama (with one)": scored(english, WordLlamaEmbedder()),
        "words and pairs, plain words": scored(plain_words),
    }
    sets = {"Climate-FEVER": climate(), "XQuAD": whole("xquad_en"), "SciFact": whole("scifact")}
    rows: dict[str, list[str]] = {name: [] for name in variants}
    for documents, queries, judge in sets.values():
        questions = dict(list(queries.items())[:limit])
        with tempfile.TemporaryDirectory() as folder, Engine.open(folder, create=True) as engine:
            engine.add(documents)
            items = {id: list(engine.retrieve(question, 10)) for id, question in questions.items()}
        for name, rank in variants.items():
            rows[name] += [f"{value:.3f}" for value in measure(rank, judge, questions, items)]
    print("| sentences ranked by | " + " | ".join(f"{name} P@1 | P@3 | nDCG@10" for name in sets) + " |")
    print("|---|" + "---|" * 9)
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
