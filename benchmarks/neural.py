"""What does a neural encoder gain: as vectors of the index, by their weight, and as a reranker of the default?

    python -m benchmarks.neural all-MiniLM-L6-v2 [--sets scifact cacm] [--vectors FOLDER]

Prints nDCG@10 of words, the default embedder, the model as a reranker, alone, and fused by weight. 100 queries and
1,000 documents of each collection under .data/ are used, with all judged ones. The vectors of a collection are made
once and kept.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import DATA, SETS, paired_p
from sleuth import Document, Engine
from sleuth.engine.reranking import EncoderReranker
from sleuth.plugins.evaluation import Collection, Scores, make_run, open_collection, score
from sleuth.plugins.neural import OnnxEmbedder
from sleuth.store import text_hash

QUESTIONS_ABOUT_CODE = ["cosqa", "conala", "codenn_csharp", "codenn_sql"]
MEASURE = "nDCG@10"
WEIGHTS = (0.4, 1.0, 1.5, 2.0, 3.0)
Vectors = NDArray[np.float32]


def sample(collection: Collection, queries: int, documents: int) -> tuple[Collection, list[Document]]:
    """Return a collection with some of its queries, and documents that hold all answers to them."""
    rng = random.Random(1)
    ids = rng.sample(sorted(collection.queries), min(queries, len(collection.queries)))
    qrels = {query: collection.qrels[query] for query in ids}
    judged = {document for grades in qrels.values() for document in grades}
    others = [document for document in collection.documents() if document.id not in judged]
    extra = rng.sample(others, min(len(others), max(0, documents - len(judged))))
    chosen = judged | {str(document.id) for document in extra}
    sampled = replace(collection, queries={query: collection.queries[query] for query in ids}, qrels=qrels)
    return sampled, [document for document in collection.documents() if document.id in chosen]


class Kept:
    """A model whose vectors of a collection are kept in a file, by content: an `Embedder`."""

    def __init__(self, model: OnnxEmbedder, path: Path) -> None:
        self.fingerprint, self._model, self._path = model.fingerprint, model, path
        self._vectors: dict[str, Vectors] = {}
        for file_path in (path, path.with_name(f"{path.stem}-more.npz")):
            if file_path.is_file():
                with np.load(file_path) as file:
                    self._vectors |= dict(zip(file["keys"].tolist(), file["vectors"], strict=True))

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text_hash(text) not in self._vectors]
        self._vectors |= zip(map(text_hash, new), self._model.embed_documents(new), strict=True)
        vectors: Vectors = np.stack([self._vectors[text_hash(text)] for text in texts]).astype(np.float32)
        return vectors

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        vectors = np.stack(list(self._vectors.values())).astype(np.float16)
        np.savez(self._path, keys=np.array(list(self._vectors)), vectors=vectors)


@contextmanager
def index_of(documents: Sequence[Document], embedder: Any = None) -> Iterator[Engine]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(Path(folder) / "index", create=True, embedder=embedder) as engine,
    ):
        engine.add(documents)
        yield engine


class Asked:
    """An engine with options: a `Retriever`."""

    def __init__(self, engine: Engine, **options: Any) -> None:
        self._engine, self._options = engine, {"rerank": "", **options}

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Any:
        return self._engine.retrieve(query, k, filter=filter, **self._options)


def ndcg(collection: Collection, engine: Engine, **options: Any) -> float:
    return scores_of(collection, engine, **options).means[MEASURE]


def scores_of(collection: Collection, engine: Engine, **options: Any) -> Scores:
    return score(make_run(Asked(engine, **options), collection.queries, k=50), collection.qrels, [MEASURE])


def systems(collection: Collection, documents: Sequence[Document], model: Kept) -> dict[str, float]:
    """Return nDCG@10 of each system, and the paired p of reranking the first 20 against the default."""
    with index_of(documents) as engine:
        values = {"words": ndcg(collection, engine, legs=["lexical"])}
        default = scores_of(collection, engine)
        reranked = [
            scores_of(collection, engine, rerank=EncoderReranker(model, first=first)) for first in (20, 50)
        ]
    values |= {"default": default.means[MEASURE], "reranked, 20": reranked[0].means[MEASURE]}
    values |= {"p": paired_p(default, reranked[0], MEASURE), "reranked, 50": reranked[1].means[MEASURE]}
    with index_of(documents, model) as engine:
        values["alone"] = ndcg(collection, engine, legs=["dense"])
        for weight in WEIGHTS:
            engine.legs["dense"].weight = weight
            values[f"fused, {weight:g}"] = ndcg(collection, engine)
    return values


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Return Markdown: a row per name, a column per key."""
    columns = list(next(iter(rows.values())))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(format(row[column], ".3f") for column in columns) + " |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="name or folder of an encoder")
    parser.add_argument("--sets", nargs="*", default=[*SETS, *QUESTIONS_ABOUT_CODE])
    parser.add_argument("--vectors", type=Path, default=DATA / "bench" / "neural")
    options = parser.parse_args()
    model = OnnxEmbedder(options.model, threads=1)
    table_rows: dict[str, dict[str, float]] = {}
    for name in options.sets:
        if not (DATA / name).is_dir():
            print(f"{name} is not there and left out", file=sys.stderr)
            continue
        collection, documents = sample(open_collection(DATA / name), 100, 1_000)
        cache = Kept(model, options.vectors / f"{name}.npz")
        table_rows[name] = systems(collection, documents, cache)
        cache.save()
        print(table({name: table_rows[name]}), file=sys.stderr, flush=True)
    means = {
        key: statistics.fmean(row[key] for row in table_rows.values())
        for key in next(iter(table_rows.values()))
    }
    means["p"] = float("nan")  # no mean of these
    print(table(table_rows | {f"mean of {len(table_rows)}": means}))


if __name__ == "__main__":
    main()
