"""How many of the lines and files that a fix changes do the first hits show? `make bench-code` prints the tables.

python -m benchmarks.code_lines --work FOLDER      trees that are not indexed in FOLDER are indexed

Gold lines are those of `swebench_dev` that the patch removes, and the line before each insertion. A reader reads hits
in their order, each line once, until the budget is spent; recall is the share of the gold lines of an issue, averaged
over the issues. Acc@k: the first k hits hold all files of the fix.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.code_collections import DATA, Given, Task, swebench, swebench_blobs
from sleuth.code import CodeStorage, Snapshot
from sleuth.code.repository.listing import Listed
from sleuth.code.repository.sources import content_id
from sleuth.code.search.filters import CodeFilter
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.search.retriever import search
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

BUDGETS = (50, 200, 500)
KS = (1, 3, 5, 10)
MOST_HITS = 200
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class Span(NamedTuple):
    """Lines of a file, the first and the last included."""

    path: str
    start: int
    end: int


def changed_lines(patch: str) -> dict[str, set[int]]:
    """Return by path the lines before the patch that it removes, and the line before each that it adds."""
    lines: dict[str, set[int]] = defaultdict(set)
    path, at = "", 0
    for line in patch.splitlines():
        if line.startswith("--- "):
            path = line[4:].removeprefix("a/")
        elif match := _HUNK.match(line):
            at = int(match[1])
        elif line.startswith("-"):
            lines[path].add(at)
            at += 1
        elif line.startswith("+") and not line.startswith("+++"):
            lines[path].add(max(1, at - 1))
        elif not line.startswith("\\"):
            at += 1
    return {path: places for path, places in lines.items() if path != "/dev/null"}


def gold_lines(snapshot: Snapshot, patch: str) -> set[tuple[str, int]]:
    """Return path and number of the lines that a patch changes in files of a snapshot."""
    lines = changed_lines(patch)
    return {(path, place) for path in lines.keys() & snapshot.by_path for place in lines[path]}


class Issue(NamedTuple):
    """An issue, and the snapshot that it was written at."""

    repository: str
    task: Task
    storage: CodeStorage
    snapshot: Snapshot


def issues_of(work: Path, only: list[str], ids: Container[str] | None = None) -> Iterator[Issue]:
    """Yield all issues, or those with these ids; trees that are not indexed in `work` are."""
    for repository, every in swebench().items():
        if only and repository not in only:
            continue
        tasks = [(task, tree) for task, tree in every if ids is None or task.id in ids]
        began = time.perf_counter()
        with open_code(work / repository.replace("/", "_"), create=True) as storage:
            place = str(Path("/collections") / repository)
            record = storage.repository_at(place) or storage.add_repository(place, "")
            listings = [sorted(Listed(path, blob) for path, blob in tree) for _, tree in tasks]
            completed_ids = {s.id for s in storage.snapshots(record.id) if s.status == "completed"}
            new = [files for files in listings if content_id(files) not in completed_ids]
            texts = swebench_blobs({file.hash for files in new for file in files}) if new else {}
            for files in new:
                index_source(storage, Given(Path(record.path), [(f.path, texts[f.hash]) for f in files]))
            for (task, _), files in zip(tasks, listings, strict=True):
                snapshot = Snapshot(storage, record, storage.snapshot(record, content_id(files)))
                yield Issue(repository, task, storage, snapshot)
        print(
            f"{repository}: {len(tasks)} issues, {time.perf_counter() - began:.0f} s",
            file=sys.stderr,
            flush=True,
        )


def patches_of_issues() -> dict[str, str]:
    """Return the patch of each issue by its id."""
    instances = map(json.loads, (DATA / "swebench_dev" / "instances.jsonl").read_text("utf-8").splitlines())
    return {instance["instance_id"]: instance["patch"] for instance in instances}


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


def spans_of_hits(issue: Issue, per_file: int | None = None) -> Iterator[Span]:
    """Yield the lines of the hits of `sleuth code search`."""
    hits, _ = search(
        issue.snapshot,
        issue.task.text,
        CodeFilter(),
        k=MOST_HITS,
        strategy="keyword",
        weights={"keyword": 1.0, "vector": 0.0},
        per_file=per_file,
    )
    for hit in hits:
        row = issue.snapshot.files[hit.file]
        chunks = issue.snapshot.detail(row).chunks
        yield Span(row.path, chunks[hit.chunks[0]].start, chunks[hit.chunks[-1]].end)


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
            ("definitions", spans_of_hits(issue)),
            ("definitions, `--per-file 1`", spans_of_hits(issue, 1)),
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
