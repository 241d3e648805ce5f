"""What do a build, a cold opening, a query and an update of a published index cost, by the number of passages?

python -m benchmarks.cluster_scale [--passages 20000] [--words 80] [--rows 1] [--shards 4] [--workers N]
    [--embedder wordllama] [--work FOLDER]

Writes files of passages of --words words drawn from 20,000 made-up words, builds an index of them in a folder of this
machine as `sleuth cluster index` does, opens it with an empty cache, asks it, changes one file in a hundred, and adds
one file. With --rows, a file holds so many passages as JSON lines; without --workers, small changes are made without
Ray. --shards 0 measures one index on this machine instead,
as `sleuth index` makes it.
Prints a Markdown table. Processor seconds are those of all processes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.processes import ProcessorClock
from sleuth import Engine
from sleuth.cluster import Cache
from sleuth.cluster.published import published_backend
from sleuth.cluster.ray import index_on_ray
from sleuth.engine import OpenOptions

_FILES_IN_FOLDER = 500
_QUERIES = 200


class Corpus:
    """Files of made-up words."""

    def __init__(self, folder: Path, rows: int, words: int) -> None:
        self.folder, self.rows, self.length = folder, rows, words
        self.rng = random.Random(1)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self.rng.choices(letters, k=self.rng.randint(3, 9))) for _ in range(20_000)]

    def path(self, number: int) -> Path:
        suffix = "md" if self.rows == 1 else "jsonl"
        return self.folder / f"{number // _FILES_IN_FOLDER:04d}" / f"{number}.{suffix}"

    def text(self) -> str:
        return " ".join(self.words[int(self.rng.random() ** 2 * len(self.words))] for _ in range(self.length))

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
    for name, value in (("passages", 20_000), ("words", 80), ("rows", 1), ("shards", 4)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--embedder", default="wordllama")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sleuth-scale-", dir=arguments.work) as scratch:
        measure(arguments, Path(scratch))


def measure(arguments: argparse.Namespace, home: Path) -> None:
    corpus, clock = Corpus(home / "corpus", arguments.rows, arguments.words), ProcessorClock()
    files = arguments.passages // arguments.rows
    for number in range(files):
        corpus.write(number)
    index = home / "index"
    address, cache = f"file://{index}", Cache(home / "cache")
    settings = {"embedder": arguments.embedder}

    def publish() -> int:
        report = index_on_ray(
            address,
            [corpus.folder],
            shards=arguments.shards,
            workers=arguments.workers,
            settings=settings,
        )
        return report.added + report.updated

    def index_here() -> int:
        with Engine.open(index, create=True, settings=settings) as engine:
            report = engine.index([corpus.folder])
            engine.embed()
            engine.wait()
        return report.added + report.updated

    def open_published() -> Engine:
        return Engine(published_backend(address, OpenOptions(), cache=cache))

    update = publish if arguments.shards else index_here
    open_index = open_published if arguments.shards else partial(Engine.open, index)
    print(
        f"{arguments.passages:,} passages of {arguments.words} words in {files:,} files "
        f"({folder_bytes(corpus.folder) / 1e6:,.0f} MB), {arguments.shards or 'no'} shards, "
        f"embedder {arguments.embedder!r}\n"
    )
    print(
        "| step | seconds | processor, s | written, MB | documents | load |\n|---|---|---|---|---|---|",
        flush=True,
    )
    timed("build", update, index, clock)
    timed("nothing new", update, index, clock)
    ask("first", open_index, corpus, clock)
    shutil.rmtree(cache.folder, ignore_errors=True)
    for number in range(0, files, 100):
        corpus.write(number)
    timed("1 % of the files changed", update, index, clock)
    corpus.write(files)
    timed("one file more", update, index, clock)
    ask("last", open_index, corpus, clock)
    if arguments.shards:
        print(f"{cache.size() / 1e6:,.0f} MB in the cache")
    print(f"{folder_bytes(index) / 1e6:,.0f} MB in all")


def ask(name: str, open_index: Callable[[], Engine], corpus: Corpus, clock: ProcessorClock) -> None:
    """Open an index twice, and ask it in between."""
    started, processor = time.perf_counter(), clock.seconds()
    with open_index() as engine:
        seconds, processor_seconds = time.perf_counter() - started, clock.seconds() - processor
        print(
            f"\nThe {name} version opened cold in {seconds:.1f} s, {processor_seconds:.1f} s of processor",
            flush=True,
        )
        rng, times, processor = random.Random(2), [], time.process_time()
        for _ in range(_QUERIES):
            query = " ".join(rng.choices(corpus.words[: len(corpus.words) // 4], k=3))
            started = time.perf_counter()
            engine.retrieve(query, 10)
            times.append((time.perf_counter() - started) * 1000)
        milliseconds = (time.process_time() - processor) * 1000 / _QUERIES
    print(
        f"Queries of three words: median {np.median(times):.1f} ms, p99 {np.percentile(times, 99):.1f} ms, "
        f"processor {milliseconds:.1f} ms; load {os.getloadavg()[0]:.1f}"
    )
    started = time.perf_counter()
    with open_index():
        print(f"Opened once more in {time.perf_counter() - started:.2f} s\n", flush=True)


def timed(step: str, update: Callable[[], int], index: Path, clock: ProcessorClock) -> None:
    before, started, processor = folder_bytes(index), time.perf_counter(), clock.seconds()
    documents = update()
    seconds, processor_seconds = time.perf_counter() - started, clock.seconds() - processor
    megabytes = (folder_bytes(index) - before) / 1e6
    print(
        f"| {step} | {seconds:.1f} | {processor_seconds:.1f} | {megabytes:.2f} | {documents:,} "
        f"| {os.getloadavg()[0]:.1f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
