"""What the first query after a commit costs: one document into a large index, then a query, beside a query before it.

    python -m benchmarks.after_commit                                   # 300,000 passages, words and meaning
    python -m benchmarks.after_commit --before ../old/.venv/bin/python   # beside another version, in turns

Prints milliseconds of CPU time of the thread that asks: medians over the commits of all rounds. Each version changes
a copy of the same index, which the first one makes, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.passages import CACHE, passages, queries
from benchmarks.query_stages import build
from benchmarks.versions import figures_of, versions_of

COMMITS = 60
WARM = 50
STEPS = ("a query before", "one document added", "the first query after", "its ratio")


def measure(home: Path, searches: list[str]) -> list[list[float]]:
    """Return milliseconds of each step but the ratio, by commit."""
    from sleuth import Document, Engine

    def timed(call: Callable[[], object]) -> float:
        began = time.thread_time()
        call()
        return (time.thread_time() - began) * 1e3

    warm, rest = searches[:WARM], iter(searches[WARM:])
    with Engine.open(home) as engine:
        for query in warm:
            engine.retrieve(query)
        rows = []
        for number in range(COMMITS):
            document = Document(f"a new text {number} about {warm[number % WARM]}", id=f"new {number % 7}")
            before = timed(lambda: engine.retrieve(next(rest)))
            write = timed(lambda: engine.add([document]))  # noqa: B023 - called at once
            rows.append([before, write, timed(lambda: engine.retrieve(next(rest)))])
            time.sleep(0.02)  # merges are done in the background
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", help="the interpreter of another version of Sleuth")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    source, home = passages(options.passages), CACHE / f"commits-{options.passages}"
    if options.serve:
        print(json.dumps(measure(options.serve, queries(source, WARM + 2 * COMMITS))))
        return
    build(home, source)
    versions = versions_of(options.before)
    rows: dict[str, list[list[float]]] = {name: [] for name in versions}
    for _ in range(options.rounds):
        for name, python in versions.items():
            with TemporaryDirectory() as work:
                copy = shutil.copytree(home, Path(work) / "index")
                arguments = ("--serve", copy, "--passages", options.passages)
                rows[name] += figures_of(python, "after_commit", *arguments)
    columns = {
        name: [statistics.median(step) for step in zip(*some, strict=True)] for name, some in rows.items()
    }
    print(f"| {options.passages:,} passages | " + " | ".join(f"{name}, ms" for name in versions) + " |")
    print("|---" * (len(versions) + 1) + "|")
    for place, step in enumerate(STEPS):
        cells = ([*column, column[-1] / column[0]] for column in columns.values())
        print(f"| {step} | " + " | ".join(f"{cell[place]:.2f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
