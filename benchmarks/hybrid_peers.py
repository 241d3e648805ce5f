"""Words and meaning together against peers: time per query with and without a filter, and what is found, in one run.

    make bench                                                # 100,000 and 1,000,000 passages
    python -m benchmarks.hybrid_peers --passages 100000 --keep  # once more over the indexes of an earlier run

Every system runs in a process of its own over the same passages, vectors (WordLlama's, made once) and queries, with
its defaults; a query begins as text and ends as ten passages with text and metadata. It is some words of one passage,
and `success` is how often that passage is among the ten. `recall` is how many of the ten nearest vectors a system
finds, asked for those alone. The filter names the passage's shelf, one of ten. Queries are timed in rounds that visit
the systems in turn, so that a noisy minute hurts all of them. Peers' indexes are kept.

Some peers lack a part of this; `benchmarks.hybrid_systems` says what replaces it.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.hybrid_systems import CLASSES, SHARED, K, System, blocks, shelf_of
from benchmarks.lexical_peers import Worker, build, folder_bytes, lines, throughput
from benchmarks.passages import CACHE, passages
from sleuth.dense.wordllama import WordLlamaEmbedder

MODULE = "benchmarks.hybrid_peers"
ROUND = 20


class Question(NamedTuple):
    """A query made of words of one passage: the passage is what has to be found.

    Attributes:
        row: the passage's number.
        shelf: the passage's, for the filter.
    """

    query: str
    row: int
    shelf: int


def questions(source: Path, n: int, seed: int = 11) -> list[Question]:
    """n questions of 2 to 8 words out of random passages."""
    rng = random.Random(seed)
    sample = [(row, text) for row, text in enumerate(lines(source)) if rng.random() < 0.05]
    drawn_questions: list[Question] = []
    while len(drawn_questions) < n:
        row, text = rng.choice(sample)
        words = re.findall(r"[A-Za-z0-9_]{2,}", text)
        if len(words) >= 8:
            drawn_questions.append(
                Question(" ".join(rng.sample(words, rng.randint(2, 8))), row, shelf_of(row))
            )
    return drawn_questions


def vectors(source: Path) -> Path:
    """A file of the passages' vectors, shape (n, 256), float32; made once and kept."""
    path = source.with_name(source.stem.replace("passages", "vectors") + ".npy")
    if not path.exists():
        embedder = WordLlamaEmbedder()
        blocks_of_rows = [embedder.embed_documents(texts) for _, texts in blocks(source, 10_000)]
        np.save(path, np.concatenate(blocks_of_rows))
    return path


def serve(name: str, home: Path, source: Path) -> None:
    """The worker: one JSON request a line on standard input, one JSON answer a line on standard output."""
    system = CLASSES[name](home)
    for line in sys.stdin:
        request = json.loads(line)
        batch = [Question(*question) for question in request.get("questions", [])]
        answer: Any = None
        if request["do"] == "build":
            matrix = np.load(request["vectors"], mmap_mode="r")
            started = time.perf_counter()
            system.build(source, matrix)
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            answer = {"seconds": seconds, "peak": peak, "whole": folder_bytes(home)}
        elif request["do"] == "open":
            system.open(source)
        elif request["do"] == "time":
            answer = timed(system, batch, filtered=request["filtered"])
        elif request["do"] == "nearest":
            answer = [system.nearest(question.query) for question in batch]
        elif request["do"] == "threads":
            answer = throughput(
                lambda question: system.search(question.query, None), batch, request["threads"]
            )
        print(json.dumps(answer), flush=True)


def timed(system: System, batch: list[Question], *, filtered: bool) -> list[tuple[float, bool]]:
    """For each question the seconds taken, and whether its passage was found."""
    took = []
    for query, row, shelf in batch:
        started = time.perf_counter()
        result = system.search(query, shelf if filtered else None)
        seconds = time.perf_counter() - started
        took.append((seconds, row in system.rows(result)))
    return took


def recalls(workers: dict[str, Worker], batch: list[Question], matrix_file: Path) -> dict[str, float]:
    """How many of the ten nearest vectors each system finds; those that tie with the tenth count as well."""
    embedder = WordLlamaEmbedder()
    query_rows = np.stack([embedder.embed_query(question.query) for question in batch])
    table = np.load(matrix_file, mmap_mode="r")
    products = [
        query_rows @ np.asarray(table[start : start + 50_000]).T for start in range(0, len(table), 50_000)
    ]
    near = np.concatenate([np.partition(block, -K)[:, -K:] for block in products], axis=1)
    least = np.partition(near, -K)[:, -K]
    recall_by_system = {}
    for name, worker in workers.items():
        rows = worker.ask(do="nearest", questions=batch)
        if any(rows):
            hits = [
                np.count_nonzero(table[row] @ vector >= enough - 1e-5)
                for row, vector, enough in zip(rows, query_rows, least, strict=True)
            ]
            recall_by_system[name] = float(np.mean(hits)) / K
    return recall_by_system


def start_worker(name: str, home: Path, source: Path) -> Worker:
    return Worker(name, home, MODULE, "--source", str(source))


def built_of(name: str, source: Path, *, keep: bool) -> tuple[Path, dict[str, Any]]:
    """Where the system's index is, and what it cost; the peers' are always kept."""
    owner = SHARED.get(name, name)
    home = CACHE / f"hybrid-{owner.replace(' + ', '-')}-{source.stem.rpartition('-')[2]}"
    start = partial(start_worker, owner, home, source)
    keep = keep or name != "sleuth"
    return home, build(name, home, keep=keep, start=start, vectors=str(vectors(source)))


def time_queries(
    workers: dict[str, Worker], batch: list[Question], *, filtered: bool
) -> dict[str, list[tuple[float, bool]]]:
    """Seconds and success by system, in turns; the slow ones answer a quarter of the questions."""
    took: dict[str, list[tuple[float, bool]]] = {name: [] for name in workers}
    for name in took:
        workers[name].ask(do="time", filtered=filtered, questions=batch[: ROUND // 4])
    for start in range(0, len(batch), ROUND):
        names = list(took)
        random.Random(start).shuffle(names)
        for name in names:
            part = batch[start : start + (ROUND // 4 if CLASSES[name].slow else ROUND)]
            took[name] += workers[name].ask(do="time", filtered=filtered, questions=part)
    return took


def same(took: list[tuple[float, bool]], name: str) -> list[tuple[float, bool]]:
    """What one that answers all questions did with those that a system was asked."""
    part = ROUND // 4 if CLASSES[name].slow else ROUND
    return [each for i, each in enumerate(took) if i % ROUND < part]


def time_threads(worker: Worker, other: Worker, batch: list[Question]) -> dict[str, float]:
    """Queries per second with one thread, with two, and with two processes of one, the median of turns.

    What two processes reach is all that the machine has to give while it does other work.
    """

    def ask(each: Worker, part: list[Question], threads: int) -> float:
        return float(each.ask(do="threads", questions=part, threads=threads))

    rates: dict[str, list[float]] = {"one": [], "two": [], "processes": []}
    for _ in range(7):
        rates["one"].append(ask(worker, batch, 1))
        rates["two"].append(ask(worker, batch, 2))
        with ThreadPoolExecutor(2) as pool:
            halves = pool.map(ask, (worker, other), (batch[::2], batch[1::2]), (1, 1))
            rates["processes"].append(sum(halves))
    return {name: statistics.median(values) for name, values in rates.items()}


def measure(n: int, names: list[str], n_queries: int, *, keep: bool) -> dict[str, Any]:
    """Build what is not there, then time all in turns."""
    source = passages(n)
    vectors(source)
    batch = questions(source, n_queries)
    builds = {name: built_of(name, source, keep=keep) for name in names}
    workers = {name: start_worker(name, home, source) for name, (home, _) in builds.items()}
    for worker in workers.values():
        worker.ask(do="open")
    systems: dict[str, dict[str, Any]] = {name: dict(figures) for name, (_, figures) in builds.items()}
    for filtered in (False, True):
        timings = time_queries(workers, batch, filtered=filtered)
        for name, took in timings.items():
            seconds = [second for second, _ in took]
            systems[name]["filtered" if filtered else "all"] = {
                "p50": statistics.median(seconds),
                "p95": sorted(seconds)[int(len(seconds) * 0.95)],
                "success": statistics.fmean(success for _, success in took),
                "other questions": CLASSES[name].slow,
                "sleuth": statistics.fmean(success for _, success in same(timings.get("sleuth", took), name)),
            }
    for name, recall in recalls(workers, batch[::4], vectors(source)).items():
        systems[name]["recall"] = recall
    threads = {}
    if "sleuth" in workers:
        other = workers["sleuth again"] = start_worker("sleuth", builds["sleuth"][0], source)
        other.ask(do="open")
        time_threads(other, workers["sleuth"], batch[:ROUND])
        threads = time_threads(workers["sleuth"], other, batch)
    for worker in workers.values():
        worker.close()
    return {
        "passages": n,
        "queries": n_queries,
        "systems": systems,
        "threads": threads,
    }


def table(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    head = (
        f"{results['passages']:,} passages, {results['queries']} queries of 2 to 8 words, "
        "ten passages with their text; times in ms.\n"
    )
    rows = [
        "| system | build s | MB on disk | recall@10 | p50 (95 %) | success@10 | filtered: p50 (95 %) | success@10 |",
        "|" + "---|" * 8,
    ]
    systems = results["systems"]
    for name, s in systems.items():
        recall = f"{s['recall']:.3f}" if "recall" in s else "–"
        cells = [name, f"{s['seconds']:.0f}", f"{s['whole'] / 1e6:.0f}", recall]
        for kind in ("all", "filtered"):
            figures = s.get(kind)
            cells += (
                [f"{figures['p50'] * 1e3:.3g} ({figures['p95'] * 1e3:.3g})", success(figures)]
                if figures
                else ["–", "–"]
            )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join([head, *rows, "", *notes(results), ""])


def success(figures: dict[str, float]) -> str:
    """How often the passage was found, and how often sleuth found it where it was not asked the same questions."""
    return f"{figures['success']:.3f}" + (
        f" (sleuth {figures['sleuth']:.3f})" if figures.get("other questions") else ""
    )


def notes(results: dict[str, Any]) -> list[str]:
    """What the table says of speed, and what is not in it."""
    systems, lines_of_notes = results["systems"], []
    for kind, words in (("all", "without a filter"), ("filtered", "with a filter")):
        peers = {name: s[kind]["p50"] for name, s in systems.items() if name != "sleuth" and kind in s}
        if peers and "sleuth" in systems:
            compared = ", ".join(
                f"{seconds / systems['sleuth'][kind]['p50']:.1f} times ({name})"
                for name, seconds in sorted(peers.items(), key=lambda pair: pair[1])
            )
            lines_of_notes.append(f"- {words}, sleuth is faster by {compared}.")
    if threads := results["threads"]:
        lines_of_notes.append(
            f"- two threads answer {threads['two'] / threads['one']:.2f} times the queries of one "
            f"({threads['one']:.0f} to {threads['two']:.0f} a second, no filter), two processes "
            f"{threads['processes'] / threads['one']:.2f} times."
        )
    return lines_of_notes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--systems", nargs="+", default=list(CLASSES), choices=list(CLASSES))
    parser.add_argument(
        "--keep", action="store_true", help="use sleuth's index of an earlier run, as the peers' always are"
    )
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--out", type=Path, help="write the tables there")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.home, options.source)
        return
    results = [measure(n, options.systems, options.queries, keep=options.keep) for n in options.passages]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    text = "\n".join(map(table, results))
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
