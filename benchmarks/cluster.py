"""What does an index of many shards cost beside one index, and how fast does it open from object storage?

python -m benchmarks.cluster [--passages 100000] [--shards 1 4 16] [--queries 200] [--storage file|s3]

Indexes passages of 60 words made from the text on this machine, once as one index and once for each number of shards;
compares rankings, times queries, publishes, and opens from an empty and from a filled cache. "s3" is moto's server on
loopback.
Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks import passages
from sleuth import Document, Engine
from sleuth.cluster import ShardedEngine, publish

BUCKET = "benchmark"


def documents(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf8") as lines:
        for number, line in enumerate(lines):
            yield Document(line.rstrip("\n"), id=f"p{number}")


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def rankings(engine: Engine, queries: Sequence[str], *, exact: bool) -> list[list[tuple[str, float | None]]]:
    return [[(item.id, item.score) for item in engine.retrieve(query, 10, exact=exact)] for query in queries]


def milliseconds(engine: Engine, queries: Sequence[str]) -> tuple[float, float]:
    """Median and 99th percentile of a query, after one that warms up."""
    engine.retrieve(queries[0], 10)
    times = []
    for query in queries:
        started = time.perf_counter()
        engine.retrieve(query, 10)
        times.append((time.perf_counter() - started) * 1000)
    return float(np.median(times)), float(np.percentile(times, 99))


@contextmanager
def storage(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty storage."""
    if kind == "file":
        yield f"file://{folder / 'published'}"
        return
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    os.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=BUCKET)
    yield f"s3://{BUCKET}/index"
    server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--storage", choices=("file", "s3"), default="s3")
    options = parser.parse_args()
    path = passages.passages(options.passages)
    queries = passages.queries(path, options.queries)
    work = Path(tempfile.mkdtemp(prefix="sleuth-cluster-"))
    os.environ["SLEUTH_CACHE"] = str(work / "cache")
    try:
        measure(options, path, queries, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def measure(options: argparse.Namespace, path: Path, queries: Sequence[str], work: Path) -> None:
    print(
        "| index | seconds to index | bytes a passage | median ms | p99 ms | equal, exact | equal, default |"
    )
    print("|---|---|---|---|---|---|---|")
    few = queries[:50]
    with Engine.open(work / "one", create=True) as one:
        seconds = indexed(one, path)
        truth, usual = rankings(one, few, exact=True), rankings(one, few, exact=False)
        row("one index", one, seconds, queries, options.passages)
    for shards in options.shards:
        with ShardedEngine.open(work / f"{shards}", create=True, shards=shards) as many:
            seconds = indexed(many, path)
            exact, default = rankings(many, few, exact=True), rankings(many, few, exact=False)
            equal = (same(truth, exact), same(ids(usual), ids(default)), same(usual, default))
            row(f"{shards} shards", many, seconds, queries, options.passages, *equal)
    print("\n| storage | publish s | again s | open, empty cache s | open, filled cache s |")
    print("|---|---|---|---|---|")
    with storage(options.storage, work) as address:
        times = [clocked(publish, work / f"{options.shards[-1]}", address) for _ in range(2)]
        times += [clocked(open_once, address) for _ in range(2)]
        print(
            f"| {options.storage} | " + " | ".join(f"{seconds:.2f}" for seconds in times) + " |", flush=True
        )


def indexed(engine: Engine, path: Path) -> float:
    started = time.perf_counter()
    engine.add(documents(path))
    engine.wait()
    return time.perf_counter() - started


def ids(some: Sequence[Sequence[tuple[str, float | None]]]) -> list[list[str]]:
    return [[name for name, _ in ranking] for ranking in some]


def same(ours: Sequence[object], theirs: Sequence[object]) -> str:
    """How many rankings are equal."""
    return f"{sum(a == b for a, b in zip(ours, theirs, strict=True))} of {len(ours)}"


def row(name: str, engine: Engine, seconds: float, queries: Sequence[str], n: int, *equal: str) -> None:
    median, slow = milliseconds(engine, queries)
    columns = [name, f"{seconds:.1f}", f"{folder_bytes(engine.path) / n:.0f}", f"{median:.2f}", f"{slow:.2f}"]
    print("| " + " | ".join([*columns, *(equal or ("", "", ""))]) + " |", flush=True)


def clocked(call: object, *arguments: object) -> float:
    started = time.perf_counter()
    call(*arguments)  # type: ignore[operator]
    return time.perf_counter() - started


def open_once(address: str) -> None:
    """Open a published index and ask it one question."""
    with Engine.open(address) as engine:
        engine.retrieve("how are files opened", 10)


if __name__ == "__main__":
    main()
