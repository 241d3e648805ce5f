"""What do a build, a cold opening, a query and an update of a published index cost, by the number of passages?

python -m benchmarks.cluster_scale [--passages 20000] [--rows 1] [--shards 4] [--workers N] [--embedder wordllama]

Writes files of passages of 80 words drawn from 20,000 made-up words, builds an index of them in a folder of this
machine as `sleuth cluster index` does, opens it with an empty cache, asks it, adds one file, and changes one file in a
hundred. With --rows, a file holds so many passages as JSON lines; without --workers, small changes are made without
Ray.
Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sleuth.cluster import Cache, open_published
from sleuth.cluster.ray import BuildReport, index_on_ray

_FILES_IN_FOLDER = 500
_QUERIES = 200


class Corpus:
    """Files of made-up words."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows = folder, rows
        self.rng = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self.rng.choices(letters, k=self.rng.randint(3, 9))) for _ in range(20_000)]

    def path(self, number: int) -> Path:
        suffix = "md" if self.rows == 1 else "jsonl"
        return self.folder / f"{number // _FILES_IN_FOLDER:04d}" / f"{number}.{suffix}"

    def text(self) -> str:
        return " ".join(self.words[int(self.rng.random() ** 2 * len(self.words))] for _ in range(80))

    def write(self, number: int) -> None:
        path = self.path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.rows == 1:
            path.write_text(f"# {self.rng.choice(self.words)} {number}\n\n{self.text()}", "utf8")
        else:
            path.write_text("\n".join(json.dumps({"text": self.text()}) for _ in range(self.rows)), "utf8")


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, value in (("passages", 20_000), ("rows", 1), ("shards", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--embedder", default="wordllama")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sleuth-scale-", dir=arguments.work) as scratch:
        measure(arguments, Path(scratch))


def measure(arguments: argparse.Namespace, home: Path) -> None:
    corpus = Corpus(home / "corpus", arguments.rows)
    files = arguments.passages // arguments.rows
    for number in range(files):
        corpus.write(number)
    address = f"file://{home / 'published'}"

    def update() -> BuildReport:
        return index_on_ray(
            address,
            [corpus.folder],
            shards=arguments.shards,
            workers=arguments.workers,
            settings={"embedder": arguments.embedder},
        )

    print(
        f"{arguments.passages:,} passages in {files:,} files ({folder_bytes(corpus.folder) / 1e6:,.0f} MB), "
        f"{arguments.shards} shards, embedder {arguments.embedder!r}; load {os.getloadavg()[0]:.1f}\n"
    )
    print("| step | seconds | processor, s | uploaded, MB | documents |\n|---|---|---|---|---|", flush=True)
    timed("build", update, home)
    timed("nothing new", update, home)
    corpus.write(files)
    timed("one file more", update, home)
    for number in range(0, files, 100):
        corpus.write(number)
    timed("1 % of the files changed", update, home)
    cache = Cache(home / "cache")
    started = time.perf_counter()
    with open_published(address, cache=cache) as engine:
        print(f"\nOpened with an empty cache in {time.perf_counter() - started:.1f} s", flush=True)
        rng, times = random.Random(2), []
        for _ in range(_QUERIES):
            query = " ".join(rng.choices(corpus.words[: len(corpus.words) // 4], k=3))
            started = time.perf_counter()
            engine.retrieve(query, 10)
            times.append((time.perf_counter() - started) * 1000)
    print(f"Queries of three words: median {np.median(times):.1f} ms, p99 {np.percentile(times, 99):.1f} ms")
    started = time.perf_counter()
    with open_published(address, cache=cache):
        print(f"Opened with a filled cache in {time.perf_counter() - started:.2f} s")
    print(
        f"{folder_bytes(home / 'published') / 1e6:,.0f} MB published, {cache.size() / 1e6:,.0f} MB in the cache"
    )


def timed(step: str, update: Callable[[], BuildReport], home: Path) -> None:
    store = home / "published"
    before, started, processor = folder_bytes(store), time.perf_counter(), os.times()
    report = update()
    seconds, after = time.perf_counter() - started, os.times()
    processor_seconds = sum(after[:4]) - sum(processor[:4])
    uploaded = (folder_bytes(store) - before) / 1e6
    print(
        f"| {step} | {seconds:.1f} | {processor_seconds:.1f} | {uploaded:.2f} | {report.added + report.updated:,} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
