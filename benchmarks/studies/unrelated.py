"""Which cosine tells passages that have something in common with a query from those that have nothing?

    python -m benchmarks.studies.unrelated [COLLECTION ...]

A search with `min_score=0` keeps a passage that holds a word of the query, or whose vector has a cosine above
`unrelated` of the embedder. For each collection under .data and each threshold it prints which share of judged-relevant
passages without a word of their query is kept, and which share of queries finds something although it should not:
random letters, keys of a keyboard in a row, questions in languages that the embedder does not know, and queries
of the other collections, left with the words that no passage of this one holds. Queries without meaning
(`has_meaning`) find nothing at any threshold.
"""

from __future__ import annotations

import argparse
import random
import string
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import WordLlamaEmbedder, embed_texts
from sleuth.evaluate import open_collection
from sleuth.text import get_analyzer

COLLECTIONS = ("nfcorpus_reduced", "scifact", "cranfield", "cisi", "xquad_en", "cosqa")
OTHERS = 200
"""Queries of each other collection."""
THRESHOLDS = (0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40)
PASSAGES = 4000
FOREIGN = [
    *("วันนี้อากาศเป็นอย่างไร", "แมวนอนอยู่ที่ไหน", "ราคาข้าวเท่าไร", "รถไฟออกกี่โมง", "ใครเป็นนายกรัฐมนตรี"),
    *("오늘 날씨가 어떻습니까", "고양이는 어디에서 잡니까", "쌀값이 얼마입니까", "기차는 언제 떠납니까"),
]
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "1234567890")


def random_letters(chance: random.Random) -> str:
    """Return two words of random letters."""
    return " ".join(
        "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 10))) for _ in range(2)
    )


def keys(chance: random.Random) -> str:
    """Return two runs of neighbouring keys."""
    runs = []
    for _ in range(2):
        row, length = chance.choice(ROWS), chance.randint(3, 6)
        start = chance.randint(0, len(row) - length)
        runs.append(row[start : start + length])
    return " ".join(runs)


def best(
    queries: list[str], vectors: NDArray[np.float32], embedder: WordLlamaEmbedder
) -> NDArray[np.float32]:
    """Return the best cosine of each query with any passage, shape (queries,)."""
    if not queries:
        return np.zeros(0, np.float32)
    has_meaning = np.array([embedder.has_meaning(query) for query in queries])
    best: NDArray[np.float32] = np.where(
        has_meaning, (embed_texts(embedder, queries) @ vectors.T).max(axis=1), 0.0
    )
    return best


def row(name: str, what: str, cosines: NDArray[np.float32]) -> None:
    """Print the share of cosines above each threshold."""
    shares = [f"{np.mean(cosines > threshold):.0%}" if len(cosines) else "-" for threshold in THRESHOLDS]
    print(f"| {name} | {what} ({len(cosines)}) | {' | '.join(shares)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="*", default=COLLECTIONS)
    names = parser.parse_args().collections
    chance = random.Random(14)
    embedder, analyzer = WordLlamaEmbedder(), get_analyzer("english")
    nonsense = {
        "random letters": [random_letters(chance) for _ in range(100)],
        "keys in a row": [keys(chance) for _ in range(100)],
        "Thai and Korean": FOREIGN,
    }
    head = " | ".join(f"{threshold:.2f}" for threshold in THRESHOLDS)
    print(f"| collection | of what | {head} |\n|---|---|{'---|' * len(THRESHOLDS)}")
    for name in names:
        collection = open_collection(Path(".data") / name)
        judged = {
            document
            for relevance in collection.qrels.values()
            for document, grade in relevance.items()
            if grade > 0
        }
        documents = list(collection.documents())
        chance.shuffle(documents)
        documents.sort(key=lambda document: document.id not in judged)
        places = {str(document.id): place for place, document in enumerate(documents[:PASSAGES])}
        texts = [
            f"{each.metadata.get('title', '')}\n{each.page_content}"[:1500] for each in documents[:PASSAGES]
        ]
        vectors = embed_texts(embedder, texts)
        words = [set(analyzer.tokens(text)) for text in texts]
        cosines = [
            vectors[places[document]] @ embed_texts(embedder, [query])[0]
            for id, query in collection.queries.items()
            for document, grade in collection.qrels.get(id, {}).items()
            if grade > 0 and document in places and words[places[document]].isdisjoint(analyzer.tokens(query))
        ]
        row(name, "relevant passages without a word of the query", np.array(cosines, np.float32))
        vocabulary = set[str]().union(*words)
        unknown = [
            " ".join(word for word in query.split() if vocabulary.isdisjoint(analyzer.tokens(word)))
            for other in names
            if other != name
            for query in list(open_collection(Path(".data") / other).queries.values())[:OTHERS]
        ]
        strange = [query for query in unknown if analyzer.tokens(query)]
        for what, queries in {**nonsense, "unknown words": strange}.items():
            row(name, f"queries of {what}, best passage", best(queries, vectors, embedder))


if __name__ == "__main__":
    main()
