"""What does it cost to record a history and to search it, and what should a word of a path or of a changed line count?

python -m benchmarks.studies.code_recorded --work FOLDER REPOSITORY=COMMIT... [--weights]

The first table has one row for each repository: its history is recorded by one run, then by runs of a tenth of a
second, then the newest commits are added to a history that lacks them. Seconds are those of user and system, git's
included. The first search is that of a process of its own, as it is for the command line; medians of five.

The second table asks for known commits: they are indexed without their subjects, and the subject is the query that
should find its commit. Commits whose body has ten words and more are asked for, 300 of the newest 5,000 of each.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

from sleuth.code import Snapshot, search_history
from sleuth.code.repository import commits_between
from sleuth.code.repository.commits import read_commits
from sleuth.code.search.query import read_query
from sleuth.code.snapshots import History, WordLeg
from sleuth.code.snapshots.recording import record_history
from sleuth.engine import open_code
from sleuth.store import SegmentView

WEIGHTS = (
    (1, 0, 0),
    (1, 0.5, 0),
    (1, 0, 0.5),
    (1, 0.25, 0.25),
    (1, 0.5, 0.25),
    (1, 0.25, 0.5),
    (1, 0.5, 0.5),
    (1, 1, 1),
)
"""What a word counts in a message, a path and a changed line."""
NEWEST = 5_000
QUERIES = 300
LEAST_WORDS = 10
QUESTIONS = (
    "why retry after a timeout",
    "fix a race when closing",
    "support proxies",
    "remove deprecated option",
)


def cpu() -> float:
    """CPU seconds of this process and of those that it ran and waited for."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def stored(index: Path) -> float:
    """Megabytes of an index."""
    return sum(path.stat().st_size for path in index.rglob("*") if path.is_file()) / 1e6


def record(index: Path, root: Path, commit: str, seconds: float) -> list[tuple[int, float]]:
    """Record a history; for each run the commits and the CPU seconds that it took."""
    runs = []
    remaining = 1
    while remaining:
        with open_code(index, create=True) as storage:
            repository = storage.repository_at(str(root)) or storage.add_repository(str(root), "")
            with storage.writing():
                began = cpu()
                commits, remaining = record_history(storage, repository, commit, History(seconds=seconds))
                storage.merge()
                runs.append((commits, cpu() - began))
            storage.database.checkpoint(force=True)
    return runs


def ask(index: Path, commit: str) -> dict[str, float]:
    """CPU seconds of the first search of this process, of later ones, and of one below a path."""
    with open_code(index) as storage:
        repository = storage.repositories()[0]
        storage.begin(repository.id, commit, commit, ())
        storage.complete(repository.id, commit, (), np.zeros(0, np.int64))
        snapshot = Snapshot(storage, repository, storage.snapshot(repository))
        times = []
        for question in QUESTIONS * 3:
            began = cpu()
            hits = search_history(snapshot, question)
            times.append(cpu() - began)
        path = hits[0].paths[0].partition("/")[0]
        began = cpu()
        search_history(snapshot, QUESTIONS[0], path=path)
        return {"first": times[0], "later": statistics.median(times[1:]), "below": cpu() - began}


def costs(work: Path, root: Path, commit: str) -> None:
    """Print a row of the first table."""
    whole, pieces = work / "whole", work / "pieces"
    for index in (whole, pieces):
        shutil.rmtree(index, ignore_errors=True)
    ((commits, seconds),) = record(whole, root, commit, 3600)
    runs = record(pieces, root, commit, 0.1)
    shutil.rmtree(pieces)
    parent = commits_between(root, commit, (), 2)[-1]
    record(pieces, root, parent, 3600)
    ((more, one),) = record(pieces, root, commit, 3600)
    command = [
        sys.executable,
        "-m",
        "benchmarks.studies.code_recorded",
        "--ask",
        commit,
        "--work",
        str(whole),
    ]
    outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(5)]
    answers = [json.loads(line) for line in outputs]
    first, later, below = (
        1e3 * statistics.median(answer[key] for answer in answers) for key in ("first", "later", "below")
    )
    print(
        f"| {name_of(root)} | {commits:,} | {seconds:.2f} s | {len(runs)} of {max(s for _, s in runs):.2f} s at most | "
        f"{more}: {1e3 * one:.0f} ms | {stored(whole):.1f} MB | {first:.0f} ms | {later:.0f} ms | {below:.0f} ms |",
        flush=True,
    )


def name_of(root: Path) -> str:
    """Return what a repository is called."""
    return (root.parent if root.name in {"repo", "main"} else root).name


def find_known(leg: WordLeg, root: Path, commit: str) -> None:
    """Print the rows of the second table for a repository."""
    ids = commits_between(root, commit, (), NEWEST)
    commits = [
        c for at in range(0, len(ids), 500) for c in read_commits(root, ids[at : at + 500], with_changes=True)
    ]
    builder = leg.builder()
    texts = {
        "message": [c.commit.body for c in commits],
        "paths": ["\n".join(c.paths) for c in commits],
        "changes": [c.changes for c in commits],
    }
    builder.add(texts, len(commits))
    data = builder.finish()
    searcher = leg.searcher([SegmentView("all", np.arange(len(commits)), None, None, data.arrays, data.meta)])
    sample = [n for n, c in enumerate(commits) if c.paths and len(c.commit.body.split()) >= LEAST_WORDS]
    sample = sample[:: max(1, len(sample) // QUERIES)][:QUERIES]
    for weights in WEIGHTS:
        ranks = []
        for n in sample:
            terms = read_query(re.sub(r"\(?#\d+\)?", "", commits[n].commit.subject)).terms
            query = {
                field: {term: times * weight for term, times in terms.items()}
                for field, weight in zip(texts, weights, strict=True)
                if weight
            }
            keys = searcher.search(query, 100).keys.tolist()
            ranks.append(1 / (keys.index(n) + 1) if n in keys else 0.0)
        inverse_ranks = np.array(ranks)
        row = f"{np.mean(inverse_ranks == 1):.3f} | {np.mean(inverse_ranks >= 0.1):.3f} | {inverse_ranks.mean():.3f}"
        print(
            f"| {name_of(root)} ({len(sample)}) | {', '.join(f'{w:g}' for w in weights)} | {row} |",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="*", metavar="REPOSITORY=COMMIT")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--weights", action="store_true", help="print the second table")
    parser.add_argument(
        "--ask", metavar="COMMIT", help="only ask the index at --work, and print the seconds as JSON"
    )
    options = parser.parse_args()
    if options.ask:
        print(json.dumps(ask(options.work, options.ask)))
        return
    print(
        "| commits of | words | first | within 10 | MRR |\n|---|---|---|---|---|" if options.weights else
        "| repository | commits | recorded | bit by bit | one more | index | first search | next | below a path |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )  # fmt: skip
    for argument in options.repositories:
        root, _, commit = argument.partition("=")
        if options.weights:
            with open_code(options.work / "none", create=True) as storage:
                find_known(storage.words.commits, Path(root).resolve(), commit)
        else:
            costs(options.work, Path(root).resolve(), commit)


if __name__ == "__main__":
    main()
