"""How many of the true best ten does the search by codes find, and what does it cost?

python -m benchmarks.dense_recall [--rows 10000 100000 1000000] [--queries 100] [--corpus .data]

Vectors: passages of 60 words of the test collections under WordLlama with those collections' queries ("real"), where
they are; rows around 1,000 centres with queries near rows ("clusters"); and both without any structure ("none"),
the hardest case. Truth is the exact float32 product. Prints a Markdown table: recall@10 by standard errors kept
(`sleuth.dense.search.CERTAINTY`) and by fixed depth, and median times beside those of the product.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import DenseLeg, codes, search
from sleuth.dense.search import DenseSearcher
from sleuth.dense.wordllama import WordLlamaEmbedder
from sleuth.store import LegRequest, SegmentView
from sleuth.store.legs.leg import pack

Vectors = NDArray[np.float32]
WORDS = 60


def unit(rows: Vectors) -> Vectors:
    """Rows of length 1."""
    lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    scaled: Vectors = (rows / lengths).astype(np.float32, copy=False)
    return scaled


def passages(folder: Path) -> Iterator[str]:
    """Windows of 60 words over every document of every collection; of short documents, windows that overlap."""
    for path in sorted(folder.glob("*/corpus.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                words = f"{document.get('title') or ''} {document.get('text') or ''}".split(" ")
                for start in range(0, max(1, len(words) - 20), 20):
                    yield " ".join(words[start : start + WORDS])


def real(n: int, queries: int, folder: Path) -> tuple[Vectors, Vectors] | None:
    """Vectors of n distinct passages in random order, and of queries of all collections."""
    texts = list(islice(dict.fromkeys(passages(folder)), 4 * n)) if folder.is_dir() else []
    if len(texts) < n:
        return None
    rng = np.random.default_rng(1)
    sample = [texts[i] for i in rng.permutation(len(texts))[:n]]
    sentences = [
        json.loads(line)["text"]
        for path in sorted(folder.glob("*/queries.jsonl"))
        for line in islice(path.open(encoding="utf-8"), 60)
    ]
    embedder = WordLlamaEmbedder()
    picked = [sentences[i] for i in rng.permutation(len(sentences))[:queries]]
    return embedder.embed_documents(sample), embedder.embed_documents(picked)


def synthetic(n: int, queries: int, structure: str) -> tuple[Vectors, Vectors]:
    """Rows around centres and queries near rows; or both without structure."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((n, 256), dtype=np.float32)
    query_rows = rng.standard_normal((queries, 256), dtype=np.float32)
    if structure == "clusters":
        centres = rng.standard_normal((1000, 256), dtype=np.float32)
        rows += 0.7 * centres[rng.integers(0, 1000, n)]
        query_rows = rows[rng.integers(0, n, queries)] + 0.7 * query_rows
    return unit(rows), unit(query_rows)


KEPT: list[tuple[str, float, int | None]] = [
    ("1.5 errors", 1.5, None),
    ("2 errors", 2.0, None),
    ("**2.5 errors**", 2.5, None),
    ("3 errors", 3.0, None),
    ("500 rows", 2.5, 500),
    ("1000 rows", 2.5, 1000),
    ("4000 rows", 2.5, 4000),
]


def timed(times: list[float], call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What the call gives; its milliseconds go to `times`."""
    started = time.perf_counter()
    result = call(*args, **options)
    times.append((time.perf_counter() - started) * 1000)
    return result


def best_ten(scores: Vectors) -> set[int]:
    """Rows of the ten greatest scores."""
    return set(np.argpartition(-scores, 9)[:10].tolist())


def measure(name: str, rows: Vectors, queries: Vectors) -> None:
    """Prints the lines of one data set."""
    leg = DenseLeg(WordLlamaEmbedder())
    packed_rows = leg.pack(codes.pack(rows), rows.shape[1])
    searcher = DenseSearcher(
        leg, [SegmentView("s", np.arange(len(rows)), None, None, packed_rows.arrays, packed_rows.meta)]
    )
    mask = np.random.default_rng(3).random(len(rows)) < 0.1
    truth = [best_ten(rows @ query) for query in queries]
    truth_of_some = [best_ten(np.where(mask, rows @ query, -2)) for query in queries]
    for label, search.CERTAINTY, depth in KEPT:
        hits_in_best = filtered = 0
        ours: list[float] = []
        narrow: list[float] = []
        product: list[float] = []
        for query, best, best_of_some in zip(queries, truth, truth_of_some, strict=True):
            timed(product, np.matmul, rows, query)
            hits = timed(ours, searcher.pool, query, LegRequest(10), depth=depth)
            some = timed(narrow, searcher.pool, query, LegRequest(10, [pack(mask)]), depth=depth)
            hits_in_best += len(best & set(hits.keys.tolist()))
            filtered += len(best_of_some & set(some.keys.tolist()))
        total = 10 * len(queries)
        print(
            f"| {name} | {len(rows):,} | {label} | {hits_in_best / total:.4f} | {filtered / total:.4f} | "
            f"{np.median(ours):.2f} | {np.median(narrow):.2f} | {np.median(product):.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--corpus", type=Path, default=Path(".data"))
    options = parser.parse_args()
    print("| vectors | rows | kept | recall@10 | filter of 10 % | ms | ms, filtered | ms, exact product |")
    print("|---|---|---|---|---|---|---|---|")
    for n in options.rows:
        vectors = real(n, options.queries, options.corpus)
        if vectors is not None:
            measure("real", *vectors)
        for structure in ("clusters", "none"):
            measure(structure, *synthetic(n, options.queries, structure))


if __name__ == "__main__":
    main()
