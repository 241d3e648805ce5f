"""How much do lists of clusters save a search in millions of vectors, and what do they lose?

python -m benchmarks.studies.dense_lists --work FOLDER [--rows 2000000 5000000] [--queries 1000] [--corpus .data]

Rows are windows of 20 words and then of 60 over the test collections, and of 40 words over the text files of this
machine, under WordLlama; queries are those of the collections. FOLDER keeps the vectors. Truth is the exact product.
Searches take turns of 50 queries: with the lists that the index makes, for several numbers of lists that are read, and
with all codes; and under filters. Prints Markdown tables of recall@10 and of CPU times. Takes 3 GB of disk and 4 GB of
memory at 5,000,000 rows.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dense_recall import unit
from benchmarks.passages import texts
from sleuth.dense import DenseLeg, DenseSearcher, WordLlamaEmbedder, lists
from sleuth.store import Scratch, SegmentData, SegmentView, pack

Vectors = NDArray[np.float32]
Rows = NDArray[np.float16]
BATCH = 20_000
PROBES = (800, 1000, 1200, lists.PROBES, 1600)
K = 10
TURN = 50
"""Queries that one way answers before the next."""
SHARES = (0.5, 0.1, 0.05, 0.02, 0.01)
"""Of rows that a filter matches, at random or in one direction of space."""


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
    hashes: set[int] = set()
    sources = chain(
        (window for words in documents(folder) for window in windows(words, 20)),
        (window for words in documents(folder) for window in windows(words, 60)),
        (window for text in texts() for window in windows(text.split(), 40)),
    )
    for window in sources:
        if len(window) <= 2_000 and hash(window) not in hashes:
            hashes.add(hash(window))
            yield window


def embedded(folder: Path, n: int, file: Path) -> Rows:
    """Vectors of n windows, or of as many as there are, in a mapped file that is made once."""
    if not file.exists():
        embedder, texts, rows = WordLlamaEmbedder(), passages(folder), 0
        with file.with_suffix(".part").open("wb") as out:
            while rows < n and (batch := list(islice(texts, min(BATCH, n - rows)))):
                unit(embedder.embed_documents(batch)).astype(np.float16).tofile(out)
                rows += len(batch)
        file.with_suffix(".part").rename(file)
    return np.memmap(file, np.float16, "r").reshape(-1, WordLlamaEmbedder.dimension)


def asked(folder: Path, n: int) -> Vectors:
    """Vectors of n queries of all collections."""
    lines = [
        json.loads(line)["text"]
        for path in sorted(folder.glob("*/queries.jsonl"))
        for line in islice(path.open(encoding="utf-8"), 60)
    ]
    sample = np.random.default_rng(1).permutation(len(lines))[:n]
    return unit(WordLlamaEmbedder().embed_documents([lines[i] for i in sample]))


def truth(rows: Rows, queries: Vectors) -> NDArray[np.intp]:
    """The best ten rows of each query by the exact product, shape (queries, 10)."""
    scores, places = [], []
    for first in range(0, len(rows), 10 * BATCH):
        batch = queries @ rows[first : first + 10 * BATCH].astype(np.float32).T
        best = np.argpartition(-batch, K, axis=1)[:, :K]
        scores.append(np.take_along_axis(batch, best, 1))
        places.append(best + first)
    order = np.argsort(-np.concatenate(scores, 1), axis=1)[:, :K]
    return np.take_along_axis(np.concatenate(places, 1), order, 1)


class Searches:
    """Searches of one segment, with and without its lists."""

    def __init__(self, data: SegmentData, n: int) -> None:
        leg = DenseLeg(WordLlamaEmbedder())
        plain = {name: array for name, array in data.arrays.items() if not name.startswith(lists.PREFIX)}
        keys = np.arange(n, dtype=np.int64)
        self.listed, self.scanned = (
            DenseSearcher(leg, [SegmentView("segment", keys, None, None, arrays, data.meta)])
            for arrays in (data.arrays, plain)
        )

    def ways(self) -> dict[str, Callable[[Vectors], NDArray[np.int64]]]:
        """How a query can be answered, by name."""

        def probe(value: int) -> Callable[[Vectors], NDArray[np.int64]]:
            def search(query: Vectors) -> NDArray[np.int64]:
                lists.PROBES = value
                return self.listed.search(query, K).keys

            return search

        return {
            "all codes": lambda query: self.scanned.search(query, K).keys,
            **{f"{value:,} lists": probe(value) for value in PROBES},
            "all codes, a pool of 200": lambda query: self.scanned.search(query, 200, depth=1000).keys,
            "lists, a pool of 200": lambda query: self.listed.search(query, 200, depth=1000).keys,
        }


def compare(searches: Searches, queries: Vectors, best: NDArray[np.intp]) -> None:
    """Print recall and times of each way, in turns of some queries: each way has the caches as it left them."""
    ways, default = searches.ways(), lists.PROBES
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    hits = dict.fromkeys(ways, 0)
    for first in range(0, len(queries), TURN):
        for name, search in ways.items():
            lists.PROBES = default
            for query, expected in zip(
                queries[first : first + TURN], best[first : first + TURN], strict=True
            ):
                begin = time.thread_time()
                keys = search(query)
                seconds[name].append(time.thread_time() - begin)
                hits[name] += len(np.intersect1d(keys[:K], expected))
    lists.PROBES = default
    print("| | recall@10 | ms, median | ms, mean | times as fast, median |\n|---|---|---|---|---|")
    for name, times in seconds.items():
        every = "all codes, a pool of 200" if "pool" in name else "all codes"
        ratio = np.median(seconds[every]) / np.median(times)
        median, mean = 1000 * float(np.median(times)), 1000 * float(np.mean(times))
        print(f"| {name} | {hits[name] / best.size:.4f} | {median:.2f} | {mean:.2f} | {ratio:.1f} |")


def filtered(searches: Searches, rows: Rows, queries: Vectors) -> None:
    """Print recall and times under filters, as an index searches and by all codes."""
    random = np.random.default_rng(2)
    direction = random.standard_normal(rows.shape[1], np.float32)
    batches = range(0, len(rows), BATCH)
    nearness = np.concatenate(
        [rows[first : first + BATCH].astype(np.float32) @ direction for first in batches]
    )
    print("| rows that match | recall@10 | all codes | ms, median | all codes |\n|---|---|---|---|---|")
    for kind, values in (("", random.random(len(rows), np.float32)), (", in one direction", nearness)):
        for share in SHARES:
            mask = values > np.quantile(values, 1 - share)
            matching = np.flatnonzero(mask)
            best, allowed = matching[truth(rows[matching], queries)], [pack(mask)]
            cells: dict[str, list[str]] = {"hits": [], "ms": []}
            for searcher in (searches.listed, searches.scanned):
                seconds, same = [], 0
                for query, expected in zip(queries, best, strict=True):
                    begin = time.thread_time()
                    keys = searcher.search(query, K, allowed=allowed).keys
                    seconds.append(time.thread_time() - begin)
                    same += len(np.intersect1d(keys, expected))
                cells["hits"].append(f"{same / best.size:.4f}")
                cells["ms"].append(f"{1000 * float(np.median(seconds)):.2f}")
            print(f"| {share:.0%}{kind} | {' | '.join(cells['hits'] + cells['ms'])} |", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 5_000_000])
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--corpus", type=Path, default=Path(".data"))
    options = parser.parse_args()
    everything = embedded(options.corpus, max(options.rows), options.work / "rows.f16")
    queries = asked(options.corpus, options.queries)
    lists.LISTED_FROM = 1
    for n in options.rows:
        sample = np.random.default_rng(9).choice(len(everything), min(n, len(everything)), replace=False)
        rows = everything[np.sort(sample)] if n < len(everything) else everything
        begin = time.process_time()
        data = DenseLeg(WordLlamaEmbedder()).pack(rows, scratch=Scratch(options.work))
        seconds = time.process_time() - begin
        size = sum(array.nbytes for name, array in data.arrays.items() if name.startswith(lists.PREFIX))
        count = len(data.arrays[f"{lists.PREFIX}scales"])
        print(f"\n{len(rows):,} rows, {len(queries)} queries; {count:,} lists, {size / len(rows):.0f} bytes a row, "
              f"made with codes in {seconds:.0f} s of CPU time\n", flush=True)  # fmt: skip
        searches = Searches(data, len(rows))
        compare(searches, queries, truth(rows, queries))
        filtered(searches, rows, queries[:300])


if __name__ == "__main__":
    main()
