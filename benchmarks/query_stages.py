"""What a search with texts spends its time on: ranking, rows, checksums, hits, and the choice of different ones.

    python -m benchmarks.query_stages                                   # 100,000 passages, words alone
    python -m benchmarks.query_stages --before ../old/.venv/bin/python   # beside another version, in turns

Prints CPU time per query in microseconds: the median of rounds, each the mean over all queries. Each version runs in a
process of its own over the same index, which the first one makes.
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
from benchmarks.stage_clock import StageClock
from benchmarks.versions import figures_of, versions_of

STAGES = {
    "words that no passage holds": ("sleuth.engine.plan", "widened"),
    "ranking": ("sleuth.engine.retrieval", "rank"),
    "rows, checksums, metadata": ("sleuth.store.reading.snapshot", "IndexSnapshot._read"),
    "hits": ("sleuth.store.reading.snapshot", "IndexSnapshot.items"),
    "choice of different hits": ("sleuth.engine.choice", "choose"),
}
"""By stage, the function whose own time it is, without that of other stages inside of it."""
REST = "everything else"


def measure(home: Path, searches: list[str], k: int, rounds: int) -> dict[str, float]:
    """Return microseconds of CPU time per query by stage, and in all without a look at stages."""
    from sleuth import Engine

    with Engine.open(home) as engine:
        for query in searches:
            engine.retrieve(query, k)
        began = time.process_time()
        for query in searches:
            engine.retrieve(query, k)
        whole = time.process_time() - began
        clock = StageClock([*STAGES, REST])
        for name, (module, path) in STAGES.items():
            clock.watch(name, module, path)
        for _ in range(rounds):
            for query in searches:
                with clock.stage(REST):
                    engine.retrieve(query, k)
    per_query = {name: seconds / rounds for name, seconds in clock.seconds.items()} | {"whole": whole}
    return {name: seconds / len(searches) * 1e6 for name, seconds in per_query.items()}


def build(home: Path, source: Path, settings: dict[str, Any] | None = None) -> None:
    """Index passages in a folder, if it is not there yet."""
    from sleuth import Document, Engine

    if not home.exists():
        with Engine.open(home, create=True, settings=settings) as engine:
            engine.add(Document(text, id=str(i)) for i, text in enumerate(lines(source)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--before", help="the interpreter of another version of Sleuth")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    source, home = passages(options.passages), CACHE / f"stages-{options.passages}"
    if options.serve:
        searches = queries(source, options.queries)
        print(json.dumps(measure(home, searches, options.serve, 1)))
        return
    build(home, source, {"analyzer": "plain", "embedder": ""})
    versions = versions_of(options.before)
    for k in (10, 100):
        figures: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
        for _ in range(options.rounds):
            for name, python in versions.items():
                arguments = ("--serve", k, "--passages", options.passages, "--queries", options.queries)
                figures[name].append(figures_of(python, "query_stages", *arguments))
        print(
            f"\n| {options.passages:,} passages, top {k} | "
            + " | ".join(f"{name}, µs" for name in versions)
            + " |"
        )
        print("|---" * (len(versions) + 1) + "|")
        for stage in [*STAGES, REST, "whole"]:
            cells = [f"{statistics.median(f[stage] for f in figures[name]):.0f}" for name in versions]
            print(f"| {stage} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
