"""What does a neural encoder gain: as vectors of the index, by their weight, and as a reranker of the default?

    python -m benchmarks.neural all-MiniLM-L6-v2 [--sets scifact cacm] [--vectors FOLDER]

Prints nDCG@10 of words, the default embedder, the model alone, fused and reranking; then the gain over words of
embedders of very different worth by their weight, with the weight that known items estimate (`sleuth.engine.weights`).
100 queries and 1,000 documents of each collection under .data/ are used, with all judged ones. The vectors of a
collection are made once and kept.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality import DATA, SETS
from sleuth import Document, Engine
from sleuth.dense import DenseLeg
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.engine.encoder import EncoderReranker
from sleuth.evaluate import Collection, Scores, compare, make_run, open_collection, score
from sleuth.plugins.neural import OnnxEmbedder
from sleuth.store import text_hash

QUESTIONS_ABOUT_CODE = ["cosqa", "conala", "codenn_csharp", "codenn_sql"]
MEASURE = "nDCG@10"
WEIGHTS = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
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


class Made:
    """An embedder made of a function of texts."""

    def __init__(self, name: str, embed: Callable[[Sequence[str]], Vectors]) -> None:
        self.fingerprint, self._embed = name, embed

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text])[0]
        return vector

    def embed_documents(self, texts: list[str]) -> Vectors:
        return self._embed(texts)


def noise(texts: Sequence[str]) -> Vectors:
    """Vectors that say nothing."""
    seeds = [zlib.crc32(text.encode()) for text in texts]
    return np.stack([np.random.default_rng(seed).standard_normal(128) for seed in seeds]).astype(np.float32)


def embedders(model: Kept) -> dict[str, Any]:
    """Embedders of very different worth."""
    static = WordLlamaEmbedder()
    return {
        "random vectors": Made("random", noise),
        "first 32 numbers of the model": Made("32", lambda texts: model.embed_documents(texts)[:, :32]),
        "default embedder, without tokens": Made("static", lambda texts: static.embed_documents(list(texts))),
        "first 96 numbers of the model": Made("96", lambda texts: model.embed_documents(texts)[:, :96]),
        "the model": Made("whole", model.embed_documents),
    }


@contextmanager
def index_of(documents: Sequence[Document], embedder: Any = None, legs: str = "") -> Iterator[Engine]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(
            Path(folder) / "index", create=True, embedder=embedder, settings={"legs": legs}
        ) as engine,
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
    return float(ndcg_by_query(collection, engine, **options).mean())


def ndcg_by_query(collection: Collection, engine: Engine, **options: Any) -> NDArray[np.float64]:
    """Return nDCG@10 of each query, in the order of the judgements; shape (queries,)."""
    return np.array(list(scores_of(collection, engine, **options).per_query[MEASURE].values()))


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
    (comparison,) = compare(default, reranked[0])
    values |= {"default": default.means[MEASURE], "reranked, 20": reranked[0].means[MEASURE]}
    return values | {"p": comparison.p, "reranked, 50": reranked[1].means[MEASURE]}


def by_weight(
    collection: Collection, documents: Sequence[Document], model: Kept
) -> dict[str, dict[str, float]]:
    """Return nDCG@10 by embedder and weight; "estimated", "alone" and the estimate itself among them.

    "own best" is the best weight for these very queries.
    """
    values: dict[str, dict[str, float]] = {}
    for name, embedder in embedders(model).items():
        with index_of(documents, embedder) as engine:
            leg = engine.legs["dense"]
            assert isinstance(leg, DenseLeg)
            row = values[name] = {"weight": leg.weight, "estimated": ndcg(collection, engine)}
            row["alone"] = ndcg(collection, engine, legs=["dense"])
            grid = []
            for weight in WEIGHTS:
                leg.weight = weight
                grid.append(ndcg_by_query(collection, engine))
                row[f"{weight:g}"] = float(grid[-1].mean())
            row["own best"] = max(float(queries.mean()) for queries in grid)
    return values


def table(rows: Mapping[str, Mapping[str, float]], form: str) -> str:
    """Return Markdown: a row per name, a column per key."""
    columns = list(next(iter(rows.values())))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name, row in rows.items():
        lines.append(f"| {name} | " + " | ".join(format(row[column], form) for column in columns) + " |")
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
    weighed: dict[str, dict[str, dict[str, float]]] = {}
    for name in options.sets:
        if not (DATA / name).is_dir():
            print(f"{name} is not there and left out", file=sys.stderr)
            continue
        collection, documents = sample(open_collection(DATA / name), 100, 1_000)
        cache = Kept(model, options.vectors / f"{name}.npz")
        table_rows[name] = systems(collection, documents, cache)
        weighed[name] = by_weight(collection, documents, cache)
        whole = weighed[name]["the model"]
        table_rows[name] |= {"alone": whole["alone"], "fused, 1": whole["1"]}
        cache.save()
        print(
            table({name: table_rows[name]}, ".3f"), table(weighed[name], "+.3f"), file=sys.stderr, flush=True
        )
    means = {
        key: statistics.fmean(row[key] for row in table_rows.values())
        for key in next(iter(table_rows.values()))
    }
    means["p"] = float("nan")  # no mean of these
    print(table(table_rows | {f"mean of {len(table_rows)}": means}, ".3f"))
    gains = {}
    for name in next(iter(weighed.values())):
        rows = {of: row[name] for of, row in weighed.items()}
        differences = {of: row["estimated"] - row["0"] for of, row in rows.items()}
        gains[name] = {
            key: statistics.fmean(row[key] - row["0"] for row in rows.values())
            for key in [*map("{:g}".format, WEIGHTS[1:]), "alone", "estimated", "own best"]
        } | {"worst": min(differences.values())}
    print(table(gains, "+.4f"))


if __name__ == "__main__":
    main()
