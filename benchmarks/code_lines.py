"""How many of the lines that a fix changes does a reader of so many lines see? `make bench-code` prints the table.

python -m benchmarks.code_lines --work FOLDER      trees that are not indexed in FOLDER are indexed

Gold lines are those of `swebench_dev` that the patch removes, and the line before each insertion. A reader reads hits
in their order, each line once, until the budget is spent; recall is the share of the gold lines of an issue, averaged
over the issues.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.code_functions import Issue, changed_lines, issues_of, patches_of_issues
from sleuth.code import CodeRetriever, Snapshot
from sleuth.code.search import rank_files, read_query

BUDGETS = (50, 200, 500)
MOST_HITS = 200


class Span(NamedTuple):
    """Lines of a file, the first and the last included."""

    path: str
    start: int
    end: int


def gold_lines(snapshot: Snapshot, patch: str) -> set[tuple[str, int]]:
    """Return path and number of the lines that a patch changes in files of a snapshot."""
    return {
        (path, place if place > 0 else max(1, -place - 1))
        for path, places in changed_lines(patch).items()
        if path in snapshot.by_path
        for place in places
    }


def recalls(spans: Iterable[Span], gold: set[tuple[str, int]]) -> list[float]:
    """Return the share of gold lines among the first lines that are read, for each of `BUDGETS`."""
    seen: set[tuple[str, int]] = set()
    matches: list[int] = []
    for line in ((span.path, number) for span in spans for number in range(span.start, span.end + 1)):
        if line not in seen:
            seen.add(line)
            matches.append(line in gold)
            if len(matches) == BUDGETS[-1]:
                break
    return [sum(matches[:budget]) / len(gold) for budget in BUDGETS]


def spans_of_hits(issue: Issue, granularity: str) -> Iterator[Span]:
    """Yield the lines of the hits of `sleuth code search --granularity`."""
    snapshot = issue.snapshot
    hits = CodeRetriever(issue.storage, None).retrieve(
        issue.task.text, snapshot.repository.id, snapshot.info.id, MOST_HITS, "keyword",
        explain=False, granularity=granularity,
    )  # fmt: skip
    for hit in hits:
        yield Span(hit.file_path, hit.start_line, hit.end_line)


def spans_of_files(issue: Issue) -> Iterator[Span]:
    """Yield whole files in their order."""
    files = issue.snapshot.files
    scores = rank_files(issue.snapshot, read_query(issue.task.text)).scores
    for at in np.argsort(-scores, kind="stable")[:MOST_HITS].tolist():
        yield Span(files[at].path, 1, files[at].lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="repositories")
    options = parser.parse_args()
    patches = patches_of_issues()
    shares: dict[str, list[list[float]]] = {}
    for issue in issues_of(options.work, options.only):
        gold = gold_lines(issue.snapshot, patches[issue.task.id])
        if not gold:
            continue
        for name, spans in (
            ("pieces", spans_of_hits(issue, "lines")),
            ("functions", spans_of_hits(issue, "function")),
            ("whole files", spans_of_files(issue)),
        ):
            shares.setdefault(name, []).append(recalls(spans, gold))
    print("| hits | issues | " + " | ".join(f"{budget} lines" for budget in BUDGETS) + " |")
    print("|---" * (2 + len(BUDGETS)) + "|")
    for name, rows in shares.items():
        means = np.mean(rows, axis=0)
        print(f"| {name} | {len(rows)} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")


if __name__ == "__main__":
    main()
