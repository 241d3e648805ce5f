"""What a search costs under a filter, beside the same search without one, and beside another version of Sleuth.

    python -m benchmarks.filtered_search                                   # 300,000 passages, words and meaning
    python -m benchmarks.filtered_search --before ../old/.venv/bin/python   # beside another version, in turns

Filters match a share of the passages at random. Prints milliseconds of CPU time of the thread that asks: medians over
the queries of all rounds. Each version opens the index that the first one makes, in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.lexical_peers import lines
from benchmarks.passages import CACHE, passages, queries
from benchmarks.versions import figures_of, versions_of

SHARES = {"all": 1000, "50 %": 500, "10 %": 100, "5 %": 50, "2 %": 20, "1 %": 10, ".1 %": 1}
"""Passages of a thousand that a filter matches."""
SEARCHES: dict[str, dict[str, Any]] = {
    "words and meaning, top 10": {"k": 10},
    "words and meaning, top 100": {"k": 100},
    "words, top 10": {"k": 10, "legs": ["lexical"]},
    "meaning, top 10": {"k": 10, "legs": ["dense"]},
}
TURN = 10
"""Queries of one search and one filter before the next."""


def build(home: Path, source: Path) -> None:
    """Index the passages, each with a number below 1000 that is as good as random."""
    from sleuth import Document, Engine

    with Engine.open(home, create=True) as engine:
        engine.add(
            Document(text, {"permille": (row * 2654435761 % (1 << 32)) * 1000 >> 32}, id=str(row))
            for row, text in enumerate(lines(source))
        )
        engine.wait()


def measure(home: Path, texts: list[str]) -> dict[str, float]:
    """Return the median of the milliseconds of each search, by its name and filter."""
    from sleuth import Engine
    from sleuth.filters import field

    times: dict[str, list[float]] = {}
    with Engine.open(home) as engine:
        for start in (0, *range(0, len(texts), TURN)):
            for share, permille in SHARES.items():
                tree = None if permille == 1000 else field("permille") < permille
                for name, options in SEARCHES.items():
                    some = times.setdefault(f"{name}|{share}", [])
                    for text in texts[start : start + TURN]:
                        began = time.thread_time()
                        engine.retrieve(text, filter=tree, **options)
                        some.append((time.thread_time() - began) * 1e3)
    return {name: statistics.median(some[TURN:]) for name, some in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=300_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", help="the interpreter of another version of Sleuth")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    source, home = passages(options.passages), CACHE / f"filtered-{options.passages}"
    texts = queries(source, options.queries)
    if options.measure:
        print(json.dumps(measure(home, texts)))
        return
    if not home.exists():
        build(home, source)
    versions = versions_of(options.before)
    results: dict[str, list[dict[str, float]]] = {version: [] for version in versions}
    for _ in range(options.rounds):
        for version, python in versions.items():
            arguments = ("--measure", "--passages", options.passages, "--queries", options.queries)
            results[version].append(figures_of(python, "filtered_search", *arguments))
    print(f"| {options.passages:,} passages | " + " | ".join(SHARES) + " |\n|" + "---|" * (len(SHARES) + 1))
    for name in SEARCHES:
        for version, rounds in results.items():
            cells = (statistics.median(one[f"{name}|{share}"] for one in rounds) for share in SHARES)
            label = f"{name}, {version}" if len(results) > 1 else name
            print(f"| {label} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
