"""Which share of the codes must a search read to find the true best ten, where rows lie in clusters?

python -m benchmarks.dense_clusters [--rows 4800000] [--clusters 4096] [--queries 200] [--corpus .data]

Rows are windows of 20 words and then of 60 over the test collections, and of 40 words over the text files of this
machine, under WordLlama; queries are those of the collections. Truth is the exact product. Clusters are those of
spherical k-means over a sample. A row is listed in its nearest cluster; in its two nearest; or in its nearest and in
the one that is near it and lies least in the direction that the first leaves out (SOAR: Sun, Simcha, Dopson, Guo and
Kumar, NeurIPS 2023). The lists of the clusters nearest to the query are read until a share of all rows is. Prints a
Markdown table of recall@10. Takes 3 GB of memory for a million rows, half of that on disk.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense_recall import unit
from benchmarks.passages import texts
from sleuth.dense import WordLlamaEmbedder

Vectors = NDArray[np.float32]
Lists = NDArray[np.intp]
BATCH = 20_000
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.4, 0.5)
PER_CLUSTER = 40
"""Rows of the sample for each cluster."""
SIZED = 40_000
"""Random rows by which the sizes of lists are estimated."""
K = 10


def windows(words: list[str], size: int) -> Iterator[str]:
    """Windows of a text that do not overlap."""
    for start in range(0, max(1, len(words) - size // 4), size):
        yield " ".join(words[start : start + size])


def documents(folder: Path) -> Iterator[list[str]]:
    """The words of each document of every collection."""
    for path in sorted(folder.glob("*/corpus.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                document = json.loads(line)
                yield f"{document.get('title') or ''} {document.get('text') or ''}".split()


def passages(folder: Path) -> Iterator[str]:
    """Distinct windows, the collections first."""
    seen: set[int] = set()
    sources = chain(
        (window for words in documents(folder) for window in windows(words, 20)),
        (window for words in documents(folder) for window in windows(words, 60)),
        (window for text in texts() for window in windows(text.split(), 40)),
    )
    for window in sources:
        if len(window) <= 2_000 and hash(window) not in seen:
            seen.add(hash(window))
            yield window


def embedded(folder: Path, n: int, file: Path) -> NDArray[np.float16]:
    """Vectors of n windows, in a mapped file."""
    embedder, found, rows = WordLlamaEmbedder(), passages(folder), 0
    with file.open("wb") as out:
        while rows < n and (batch := list(islice(found, min(BATCH, n - rows)))):
            unit(embedder.embed_documents(batch)).astype(np.float16).tofile(out)
            rows += len(batch)
    return np.memmap(file, np.float16, "r", shape=(rows, 256))


def asked(folder: Path, n: int) -> Vectors:
    """Vectors of n queries of all collections."""
    lines = [
        json.loads(line)["text"]
        for path in sorted(folder.glob("*/queries.jsonl"))
        for line in islice(path.open(encoding="utf-8"), 60)
    ]
    chosen = np.random.default_rng(1).permutation(len(lines))[:n]
    return unit(WordLlamaEmbedder().embed_documents([lines[i] for i in chosen]))


def truth(rows: NDArray[np.float16], queries: Vectors) -> Lists:
    """The best ten rows of each query by the exact product, shape (queries, 10)."""
    scores, places = [], []
    for first in range(0, len(rows), 10 * BATCH):
        batch = queries @ rows[first : first + 10 * BATCH].astype(np.float32).T
        best = np.argpartition(-batch, K, axis=1)[:, :K]
        scores.append(np.take_along_axis(batch, best, 1))
        places.append(best + first)
    order = np.argsort(-np.concatenate(scores, 1), axis=1)[:, :K]
    return np.take_along_axis(np.concatenate(places, 1), order, 1)


def nearest(rows: Vectors, centres: Vectors) -> Lists:
    """The nearest centre of each row."""
    parts = (rows[i : i + BATCH] @ centres.T for i in range(0, len(rows), BATCH))
    return np.concatenate([part.argmax(1) for part in parts])


def k_means(rows: Vectors, k: int, rounds: int = 6) -> Vectors:
    """Centres of k clusters, of length 1."""
    rng = np.random.default_rng(3)
    centres = rows[rng.choice(len(rows), k, replace=False)]
    for _ in range(rounds):
        owners = nearest(rows, centres)
        order = np.argsort(owners, kind="stable")
        begins = np.flatnonzero(np.diff(owners[order], prepend=-1))
        sums = rows[rng.choice(len(rows), k)]
        sums[owners[order][begins]] = np.add.reduceat(rows[order], begins, axis=0)
        centres = unit(sums)
    return centres


def two_nearest(rows: Vectors, centres: Vectors) -> Lists:
    """The two nearest centres of each row."""
    return np.argsort(-(rows @ centres.T), axis=1)[:, :2]


def apart(rows: Vectors, centres: Vectors) -> Lists:
    """The nearest centre of each row, and the next that does not lie along what the first leaves out."""
    products = rows @ centres.T
    first = products.argmax(1)
    left = unit(rows - centres[first])
    parallel = (left * rows).sum(1)[:, None] - left @ centres.T
    errors = 2 - 2 * products + parallel**2
    errors[np.arange(len(rows)), first] = np.inf
    return np.stack([first, errors.argmin(1)], 1)


CHOICES: dict[str, Callable[[Vectors, Vectors], Lists]] = {
    "its nearest cluster": lambda rows, centres: nearest(rows, centres)[:, None],
    "its two nearest": two_nearest,
    "its nearest and one apart": apart,
}


def recalls(queries: Vectors, centres: Vectors, best: Lists, sized: Lists) -> list[float]:
    """Recall@10 by share of the codes that are read.

    Args:
        best: the lists of the true best of each query, shape (queries, 10, lists of a row).
        sized: the lists of random rows, shape (rows, lists of a row).
    """
    sizes = np.bincount(sized.ravel(), minlength=len(centres)) / len(sized)
    order = np.argsort(-(queries @ centres.T), axis=1)
    read = np.empty_like(sizes, shape=order.shape)
    np.put_along_axis(read, order, np.cumsum(sizes[order], axis=1), 1)
    needed = np.take_along_axis(read, best.reshape(len(queries), -1), 1).reshape(best.shape).min(2)
    return [float((needed <= share).mean()) for share in SHARES]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=4_800_000)
    parser.add_argument("--clusters", type=int, default=4096)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--corpus", type=Path, default=Path(".data"))
    options = parser.parse_args()
    rng = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as folder:
        rows = embedded(options.corpus, options.rows, Path(folder) / "rows")
        queries = asked(options.corpus, options.queries)
        best = truth(rows, queries)
        sample = rng.choice(len(rows), min(len(rows), PER_CLUSTER * options.clusters), replace=False)
        centres = k_means(rows[np.sort(sample)].astype(np.float32), options.clusters)
        sized = rows[np.sort(rng.choice(len(rows), min(len(rows), SIZED), replace=False))].astype(np.float32)
        print(f"{len(rows):,} rows, {len(queries)} queries, {options.clusters:,} clusters")
        print("| a row is listed in | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |")
        print("|---" * (len(SHARES) + 1) + "|")
        for name, lists_of in CHOICES.items():
            lists = np.stack([lists_of(rows[places].astype(np.float32), centres) for places in best])
            values = recalls(queries, centres, lists, lists_of(sized, centres))
            print(f"| {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |", flush=True)


if __name__ == "__main__":
    main()
