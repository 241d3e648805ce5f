"""What does a server keep in memory? Its own pages, and its part of mapped files, before and after queries.

    python -m benchmarks.serve_memory INDEX [--before PYTHON] [--queries 200] [--threads 8]

INDEX holds the passages of `benchmarks.passages`, as one of `benchmarks.hybrid_peers` does. `--before` names the Python
of another checkout, which serves the same index first. Pages that several processes map count in part (PSS).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

from benchmarks.passages import passages, queries

_REGION = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)")
_KEYS = ("dense", "lexical", "columns")


def megabytes(pid: int) -> dict[str, float]:
    """Return the proportional memory of a process in MB: its own, and that of each kind of mapped file."""
    sizes: Counter[str] = Counter()
    name = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if region := _REGION.fullmatch(line):
            name = next((key for key in _KEYS if f"/segments/{key}-" in region[1]), "other files")
        elif line.startswith("Pss:"):
            sizes[name] += int(line.split()[1])
        elif line.startswith("Anonymous:"):
            anonymous = int(line.split()[1])
            sizes["own"] += anonymous
            sizes[name] -= anonymous
    return {name: size * 1024 / 1e6 for name, size in sizes.items()}


def serve_and_ask(python: str, index: Path, texts: list[str], threads: int) -> list[dict[str, float]]:
    """Return the memory of a server that is ready, and after queries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = (
        python,
        "-m",
        "sleuth",
        "serve",
        "--port",
        address.partition(":")[2],
        "--index",
        str(index),
        "--quiet",
    )
    server = subprocess.Popen(command, env=dict(os.environ), stderr=subprocess.DEVNULL)

    def ask(query: str) -> None:
        body = json.dumps({"query": query}).encode()
        head = {"content-type": "application/json"}
        with urlopen(Request(f"http://{address}/v1/search", body, head), timeout=60) as answer:
            answer.read()

    try:
        while True:
            try:
                with urlopen(f"http://{address}/readyz", timeout=10):
                    break
            except OSError:
                time.sleep(0.05)
        memory = [megabytes(server.pid)]
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(ask, texts))
        return [*memory, megabytes(server.pid)]
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("index", type=Path)
    parser.add_argument("--before", metavar="PYTHON")
    parser.add_argument(
        "--passages", type=int, default=1_000_000, help="of the file from which queries are made"
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8, help="that ask at the same time")
    options = parser.parse_args()
    texts = queries(passages(options.passages), options.queries)
    columns = ("own", *_KEYS, "other files")
    print(f"| server | {' | '.join(columns)} | together, MB |\n|{'---|' * (len(columns) + 2)}")
    for name, python in (("before", options.before), ("now", sys.executable)):
        if python is None:
            continue
        for when, sizes in zip(
            ("ready", f"after {options.queries} queries"),
            serve_and_ask(python, options.index, texts, options.threads),
            strict=True,
        ):
            cells = " | ".join(f"{sizes.get(column, 0):.0f}" for column in columns)
            print(f"| {name}, {when} | {cells} | {sum(sizes.values()):.0f} |")


if __name__ == "__main__":
    main()
