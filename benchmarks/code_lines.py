"""How many of the lines and files that a fix changes do the first hits show? `make bench-code` prints the tables.

python -m benchmarks.code_lines --work FOLDER      trees that are not indexed in FOLDER are indexed

Gold lines are those of `swebench_dev` that the patch removes, and the line before each insertion. A reader reads hits
in their order, each line once, until the budget is spent; recall is the share of the gold lines of an issue, averaged
over the issues. Acc@k: the first k hits hold all files of the fix.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.code_functions import Issue, changed_lines, issues_of, patches_of_issues
from sleuth.code import Snapshot
from sleuth.code.search.filters import CodeFilter
from sleuth.code.search.functions import function_of
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.search.retriever import search, search_functions

BUDGETS = (50, 200, 500)
KS = (1, 3, 5, 10)
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
    lines_so_far: set[tuple[str, int]] = set()
    matches: list[int] = []
    for line in ((span.path, number) for span in spans for number in range(span.start, span.end + 1)):
        if line not in lines_so_far:
            lines_so_far.add(line)
            matches.append(line in gold)
            if len(matches) == BUDGETS[-1]:
                break
    return [sum(matches[:budget]) / len(gold) for budget in BUDGETS]


def accuracies(spans: Iterable[Span], gold: set[str]) -> list[float]:
    """Return for each of `KS` whether the first hits hold all these files."""
    paths = [span.path for span in spans]
    return [float(gold <= set(paths[:k])) for k in KS]


def spans_of_hits(issue: Issue, granularity: str, per_file: int | None = None) -> Iterator[Span]:
    """Yield the lines of the hits of `sleuth code search --granularity`."""
    snapshot, text = issue.snapshot, issue.task.text
    everywhere = CodeFilter()
    if granularity == "function":
        functions = search_functions(
            snapshot, text, everywhere, k=MOST_HITS, strategy="keyword", provider=None, per_file=per_file
        )
        for piece in functions.pieces[:MOST_HITS]:
            symbol = function_of(snapshot, piece)
            yield Span(snapshot.files[piece.file].path, symbol.start, symbol.end)
    else:
        answer = search(
            snapshot, text, everywhere, k=MOST_HITS, strategy="keyword", provider=None, per_file=per_file
        )
        for hit in answer.pieces[:MOST_HITS]:
            row = snapshot.files[hit.file]
            chunk = snapshot.detail(row).chunks[hit.chunk]
            yield Span(row.path, chunk.start, chunk.end)


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
    lines: dict[str, list[list[float]]] = {}
    files: dict[str, list[list[float]]] = {}
    for issue in issues_of(options.work, options.only):
        gold = gold_lines(issue.snapshot, patches[issue.task.id])
        for name, results in (
            ("pieces", spans_of_hits(issue, "lines")),
            ("pieces, `--per-file 1`", spans_of_hits(issue, "lines", 1)),
            ("functions", spans_of_hits(issue, "function")),
            ("functions, `--per-file 1`", spans_of_hits(issue, "function", 1)),
            ("whole files", spans_of_files(issue)),
        ):
            spans = list(results)
            files.setdefault(name, []).append(accuracies(spans, issue.task.gold))
            if gold:
                lines.setdefault(name, []).append(recalls(spans, gold))
    show([f"{budget} lines" for budget in BUDGETS], lines)
    show([f"Acc@{k}" for k in KS], files)


def show(columns: Sequence[str], measured: Mapping[str, list[list[float]]]) -> None:
    """Print a table of means, a row for each kind of hits."""
    print("| hits | issues | " + " | ".join(columns) + " |")
    print("|---" * (2 + len(columns)) + "|")
    for name, rows in measured.items():
        print(
            f"| {name} | {len(rows)} | " + " | ".join(f"{mean:.3f}" for mean in np.mean(rows, axis=0)) + " |"
        )


if __name__ == "__main__":
    main()
