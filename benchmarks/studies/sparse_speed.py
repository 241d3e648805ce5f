"""What does a search of learned sparse weights cost beside one of words?

    python -m benchmarks.studies.sparse_speed [--passages 100000] [--texts FILE] [--model FOLDER]

Passages of 60 words and queries of 2 to 8 words (`benchmarks.passages`, or the first lines of a file). The model
encodes a sample of them. Each passage then has half of the tokens of two of the sample, so that tokens are as frequent
as if all were encoded. Prints the CPU time of encoding, terms, bytes, and CPU times of ten hits and of a pool of 200.
Both legs take turns.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lexical_peers import lines
from benchmarks.passages import passages, queries
from benchmarks.quality import DATA
from benchmarks.splade import packaged, write_model
from sleuth import Engine
from sleuth.plugins.neural import OnnxSparseEncoder
from sleuth.plugins.sparse import SparseLeg
from sleuth.store import LegRequest, LegSearcher, RankingLeg, Rows, SegmentView

QUERIES = 300


class Mixed(OnnxSparseEncoder):
    """Encodes some texts, and mixes their weights for others while `is_mixing`."""

    is_mixing = False

    def fill(self, texts: Sequence[str]) -> None:
        """Encode the texts whose weights are mixed."""
        self.weights = list(self.encode_documents(texts))
        self.chance = random.Random(5)

    def encode_documents(self, texts: Sequence[str]) -> list[Mapping[str, float]]:
        """Return the weights of as many texts."""
        return [self._mixed() for _ in texts] if self.is_mixing else super().encode_documents(texts)

    def _mixed(self) -> Mapping[str, float]:
        halves = (self.chance.choice(self.weights) for _ in range(2))
        return {
            token: value for half in halves for token, value in half.items() if self.chance.random() < 0.5
        }


def searcher_of(name: str, leg: RankingLeg[Any], rows: Rows) -> LegSearcher[Any]:
    """Return a searcher of one segment of all rows, and print its size."""
    began = time.process_time()
    data = leg.build(rows)
    size = sum(array.nbytes for array in data.arrays.values())
    print(
        f"{name}: {size / len(rows.keys):.0f} bytes a passage, built in {time.process_time() - began:.0f} s"
    )
    return leg.searcher([SegmentView("all", rows.keys, None, None, data.arrays, data.meta)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--encoded", type=int, default=1_000, help="passages that the model encodes")
    parser.add_argument("--texts", type=Path, help="passages, one a line")
    parser.add_argument("--model", type=Path, help="folder of another sparse encoder")
    options = parser.parse_args()
    source = options.texts or passages(options.passages)
    texts = list(islice(lines(source), options.passages))
    model = Mixed(str(options.model or write_model(DATA / "bench" / "splade-tiny", packaged())))
    began = time.process_time()
    model.fill(random.Random(3).sample(texts, options.encoded))
    print(f"encoding a passage: {(time.process_time() - began) / options.encoded * 1e3:.1f} ms")
    print(f"tokens of a passage: {statistics.fmean(map(len, model.weights)):.0f}")
    rows = Rows(np.arange(1, len(texts) + 1), None, {"text": texts}, [{}] * len(texts))
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(Path(folder) / "i", create=True, embedder="") as engine,
    ):
        model.is_mixing = True
        searchers = {
            "words": searcher_of("words", engine.legs["lexical"], rows),
            "sparse": searcher_of("sparse", SparseLeg(model, ""), rows),
        }
        model.is_mixing = False
        searches = queries(source, QUERIES)
        times: dict[str, list[float]] = {}
        for query in searches:
            for name, searcher in searchers.items():
                began = time.process_time()
                question = searcher.ask(query)
                times.setdefault(f"{name}, reading the query", []).append(time.process_time() - began)
                for k in (10, 200):
                    began = time.process_time()
                    searcher.pool(question, LegRequest(k))
                    times.setdefault(f"{name}, the first {k}", []).append(time.process_time() - began)
        print(
            f"tokens of a query: {statistics.fmean(len(model.encode_query(query)) for query in searches):.0f}\n"
        )
    print("| CPU time, ms | median | 95 % |\n|---|---|---|")
    for name, seconds in times.items():
        print(
            f"| {name} | {statistics.median(seconds) * 1e3:.2f} "
            f"| {statistics.quantiles(seconds, n=20)[-1] * 1e3:.2f} |"
        )


if __name__ == "__main__":
    main()
