"""What does serving and building over Ray cost, and how soon is a killed searcher back?

python -m benchmarks.cluster_ray [--passages 20000] [--shards 4] [--queries 100] [--files 40]

Builds an index of passages of 60 words in S3 (moto's server on loopback) with 1 and with 2 workers; serves it from one
process and from searchers on Ray; times queries, the first load of a searcher, and the recovery after one is killed,
without and with replicas. Ray runs on this machine with two processors. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from benchmarks import passages
from benchmarks.cluster import milliseconds, storage
from sleuth import Engine
from sleuth.cluster import versions
from sleuth.plugins.ray import RouterOptions, index_on_ray, serve_from_ray
from sleuth.plugins.ray.engine import RayEngine
from sleuth.plugins.ray.session import ray_session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--passages", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--files", type=int, default=40)
    options = parser.parse_args()
    path = passages.passages(options.passages)
    queries = passages.queries(path, options.queries)
    work = Path(tempfile.mkdtemp(prefix="sleuth-ray-"))
    os.environ["SLEUTH_CACHE"] = str(work / "cache")
    try:
        with ExitStack() as stack:
            address = stack.enter_context(storage("s3", work))
            stack.enter_context(ray_session(cpus=2))
            build(options, path, work, address)
            serve(options, queries, address)
            recover(queries, address)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_files(path: Path, count: int, files: int, folder: Path) -> None:
    """Write passages as text, a paragraph each, about as many into each file."""
    folder.mkdir()
    with path.open(encoding="utf8") as lines:
        for number in range(files):
            some = islice(lines, -(-count // files))
            (folder / f"{number:03d}.txt").write_text("\n\n".join(line.rstrip("\n") for line in some), "utf8")


def build(options: argparse.Namespace, path: Path, work: Path, address: str) -> None:
    write_files(path, options.passages, options.files, work / "files")
    print("| building | seconds | MB/s | again, nothing changed, seconds |\n|---|---|---|---|")
    for workers in (1, 2):
        place = f"{address}-{workers}"
        first = index_on_ray(place, [work / "files"], shards=options.shards, workers=workers)
        again = index_on_ray(place, [work / "files"], workers=workers)
        rate = first.bytes / first.seconds / 1e6
        print(f"| {workers} workers | {first.seconds:.1f} | {rate:.2f} | {again.seconds:.1f} |", flush=True)
    (newest, *_) = versions(f"{address}-2")
    print(f"\n{newest.passages} passages, {newest.size / newest.passages:.0f} bytes each")


def serve(options: argparse.Namespace, queries: Sequence[str], address: str) -> None:
    print("\n| serving | open s | median ms | p99 ms |\n|---|---|---|---|")
    started = time.perf_counter()
    with Engine.open(f"{address}-2") as engine:
        row("one process", engine, started, queries)
    for searchers in (1, 2):
        for emptied in (True, False):
            if emptied:
                shutil.rmtree(os.environ["SLEUTH_CACHE"], ignore_errors=True)
            started = time.perf_counter()
            with serve_from_ray(f"{address}-2", options=RouterOptions(searchers=searchers)) as engine:
                cache = "empty cache" if emptied else "filled cache"
                row(f"{searchers} searchers, {cache}", engine, started, queries)


def row(name: str, engine: Engine, started: float, queries: Sequence[str]) -> None:
    opening = time.perf_counter() - started
    median, slow = milliseconds(engine, queries)
    print(f"| {name} | {opening:.2f} | {median:.2f} | {slow:.2f} |", flush=True)


def recover(queries: Sequence[str], address: str) -> None:
    print(
        "\n| a searcher is killed | queries until it is back | degraded | failed | seconds until it is back |"
    )
    print("|---|---|---|---|---|")
    for replicas in (1, 2):
        with serve_from_ray(f"{address}-2", options=RouterOptions(searchers=2, replicas=replicas)) as engine:
            engine.retrieve(queries[0])
            print(f"| {replicas} replicas | {kill_one(engine, queries)} |", flush=True)


def kill_one(engine: RayEngine, queries: Sequence[str]) -> str:
    (number,) = [each["process"] for each in engine.status()["searchers"] if each["name"] == "searcher 0.0"]
    os.kill(number, signal.SIGKILL)
    started = time.perf_counter()
    count = degraded = failed = 0
    while time.perf_counter() - started < 60 and not engine.status()["counts"].get("revived"):
        try:
            degraded += bool(engine.retrieve(queries[count % len(queries)]).failures)
        except Exception:  # noqa: BLE001 - what fails is counted
            failed += 1
        count += 1
    return f"{count} | {degraded} | {failed} | {time.perf_counter() - started:.1f}"


if __name__ == "__main__":
    main()
