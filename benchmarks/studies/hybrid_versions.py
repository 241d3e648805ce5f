"""Two versions of Sleuth against each other: CPU time of a hybrid query, in turns, over indexes of the same passages.

    git worktree add /tmp/before COMMIT && (cd /tmp/before && python setup.py --quiet build_ext --inplace)
    python -m benchmarks.studies.hybrid_versions /tmp/before . --passages 100000 1000000
    python -m benchmarks.studies.hybrid_versions /tmp/before . --settle 60
    python -m benchmarks.studies.hybrid_versions /tmp/before . --displace 48

Each version runs in a process of its own, over an index that it has built; indexes are kept. Each leg is merged into
one segment, because how many a build leaves depends on when merges happen to run. The versions answer the same
queries, `TURN` at a time, in changing order, so that a noisy minute hurts all of them. The time is that of the thread
that asks. Before it is measured, each version answers 500 other queries. An index that was opened some seconds ago is
proven while it is asked; `--settle` waits until that is over.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.hybrid_peers import questions
from benchmarks.hybrid_systems import K, shelf_of
from benchmarks.lexical_peers import lines
from benchmarks.passages import CACHE, passages

TURN = 50
WARM = 500
PATIENCE = 6
"""Seconds after which the next query has an open index proven."""
ROOT = Path(__file__).parents[2]


class Version:
    """A checkout of Sleuth with built kernels, in a process of its own.

    Args:
        checkout: its folder.
        source: the passages.
    """

    def __init__(self, checkout: Path, source: Path) -> None:
        home = CACHE / f"version-{checkout.resolve().name}-{source.stem.rpartition('-')[2]}"
        paths = os.pathsep.join([str(checkout.resolve() / "src"), str(ROOT)])
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.studies.hybrid_versions",
                "--serve",
                str(home),
                "--source",
                str(source),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )

    def ask(self, queries: list[str], displace: int = 0) -> list[float]:
        """Return the seconds of CPU time of each query."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([queries, displace]) + "\n")
        self._process.stdin.flush()
        seconds: list[float] = json.loads(self._process.stdout.readline())
        return seconds

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def serve(home: Path, source: Path) -> None:
    """The process of a version: a JSON request on each line of input, a JSON answer on each line of output."""
    import numpy as np

    from sleuth import Document, Engine

    if not home.exists():
        with Engine.open(home, create=True) as engine:
            engine.add(
                Document(text, {"shelf": shelf_of(row)}, id=str(row))
                for row, text in enumerate(lines(source))
            )
            engine.compact()
    engine = Engine.open(home)
    for line in sys.stdin:
        queries, displace = json.loads(line)
        other = np.zeros(displace << 17)
        seconds = []
        for query in queries:
            other += 1
            started = time.thread_time()
            engine.retrieve(query, K)
            seconds.append(time.thread_time() - started)
        print(json.dumps(seconds), flush=True)


def measure(checkouts: list[Path], n: int, n_queries: int, displace: int, settle: float) -> dict[str, Any]:
    """Return the seconds of each query by version."""
    source = passages(n)
    texts = [question.query for question in questions(source, WARM + n_queries)]
    versions = {str(checkout): Version(checkout, source) for checkout in checkouts}
    seconds: dict[str, list[float]] = {name: [] for name in versions}
    for wait in (PATIENCE, settle) if settle else ():
        for version in versions.values():
            version.ask(texts[:1])
        time.sleep(wait)
    for version in versions.values():
        version.ask(texts[:WARM])
    for start in range(WARM, len(texts), TURN):
        names = random.Random(start).sample(list(versions), len(versions))
        for name in names:
            seconds[name] += versions[name].ask(texts[start : start + TURN], displace)
    for version in versions.values():
        version.close()
    return seconds


def table(seconds: dict[str, list[float]], n: int, displace: int) -> str:
    """The figures as Markdown; ratios are to the first version."""
    first = statistics.median(next(iter(seconds.values())))
    rows = [
        f"{n:,} passages, {displace} MB of other data before each query; CPU time in ms\n",
        "| version | lower quartile | median | times the first |",
        "|---|---|---|---|",
    ]
    for name, values in seconds.items():
        quartile, median = sorted(values)[len(values) // 4], statistics.median(values)
        rows.append(f"| {name} | {quartile * 1e3:.2f} | {median * 1e3:.2f} | {median / first:.2f} |")
    return "\n".join([*rows, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path, nargs="*", help="folders of versions, their kernels built")
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000])
    parser.add_argument("--queries", type=int, default=800)
    parser.add_argument("--displace", type=int, default=0, help="MB of other data written before each query")
    parser.add_argument("--settle", type=float, default=0, help="seconds before the first query is measured")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.source)
        return
    for n in options.passages:
        seconds = measure(options.checkouts, n, options.queries, options.displace, options.settle)
        print(table(seconds, n, options.displace))


if __name__ == "__main__":
    main()
