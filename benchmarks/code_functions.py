"""How well are the functions found that a fix of an issue changes? `make bench-code` prints the table.

python -m benchmarks.code_functions --work FOLDER          judges; trees that are not indexed in FOLDER are indexed
python -m benchmarks.code_functions --work FOLDER --mirrors MIRRORS --fit    learns the weights again, with the
    functions of the commit collections (`benchmarks/code_commits.py`), and judges each set by the other ones

Gold functions are those of `swebench_dev` whose lines the patch changes; of nested functions, the outermost. Issues
whose patch changes no function are left out. Acc@k: all gold functions are among the first k.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
import time
from collections import defaultdict
from collections.abc import Container, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.code_collections import DATA, Given, Task, swebench, swebench_blobs
from sleuth.code import CodeStorage, Snapshot
from sleuth.code.repository.listing import Listed
from sleuth.code.repository.sources import content_id
from sleuth.code.search.functions import FUNCTION_WEIGHTS, function_signals, outer_functions
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

if TYPE_CHECKING:
    from sleuth.code.parsing.detail import Symbol

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
KS = (1, 3, 5, 10)


class FunctionCase(NamedTuple):
    """One issue.

    Attributes:
        values: signals of the candidates, shape (n, signals).
        gold: which of them are gold, shape (n,); `missing` gold functions are no candidates.
    """

    id: str
    repository: str
    values: NDArray[np.float32]
    gold: NDArray[np.bool_]
    missing: int


def changed_lines(patch: str) -> dict[str, list[int]]:
    """Return by path the lines before the patch that it removes, and those before which it adds within a hunk."""
    lines: dict[str, list[int]] = defaultdict(list)
    path, at = "", 0
    for line in patch.splitlines():
        if line.startswith("--- "):
            path = line[4:].removeprefix("a/")
        elif match := _HUNK.match(line):
            at = int(match[1])
        elif line.startswith("-"):
            lines[path].append(at)
            at += 1
        elif line.startswith("+") and not line.startswith("+++"):
            lines[path].append(-at)  # added before this line
        elif not line.startswith("\\"):
            at += 1
    return {path: sorted(set(places)) for path, places in lines.items() if path != "/dev/null"}


def gold_functions(snapshot: Snapshot, patch: str) -> set[tuple[int, int]]:
    """Return the functions that a patch changes, by file and symbol."""
    gold = set()
    for path, places in changed_lines(patch).items():
        if path not in snapshot.by_path:
            continue
        file = snapshot.by_path[path]
        symbols = snapshot.detail(snapshot.files[file]).symbols
        functions = [(at, symbols[at]) for at in sorted(set(outer_functions(symbols)) - {-1})]
        for place in places:
            for at, symbol in functions:
                if is_changed(symbol, place):
                    gold.add((file, at))
    return gold


def is_changed(symbol: Symbol, place: int) -> bool:
    """Return whether a place of `changed_lines` is in a definition."""
    return symbol.start < -place <= symbol.end if place < 0 else symbol.start <= place <= symbol.end


def cases_of(work: Path, only: list[str]) -> Iterator[FunctionCase]:
    """Yield the cases of all issues, repository by repository."""
    patches = patches_of_issues()
    for issue in issues_of(work, only):
        yield case_of(issue.snapshot, issue.repository, issue.task, patches[issue.task.id])


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
            record = storage.add_repository(str(Path("/collections") / repository), "")
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


def case_of(snapshot: Snapshot, repository: str, task: Task, patch: str) -> FunctionCase:
    """Return the candidates of an issue and which of them are gold."""
    query = read_query(task.text)
    signals = function_signals(snapshot, query, rank_files(snapshot, query))
    gold = gold_functions(snapshot, patch)
    mask = np.array([tuple(function) in gold for function in signals.functions], bool)
    return FunctionCase(task.id, repository, signals.values, mask, len(gold) - int(mask.sum()))


def worst_place(case: FunctionCase, weights: NDArray[np.float32]) -> int:
    """Return the place of the last gold function, from 0; a million where one is missing."""
    if case.missing or not case.gold.any():
        return 10**6
    order = np.argsort(-(case.values @ weights), kind="stable")
    return int(np.flatnonzero(case.gold[order]).max())


def fit(sets: list[list[FunctionCase]], l2: float = 1e-3) -> NDArray[np.float32]:
    """Return weights that give gold functions the most of a softmax over the candidates; each set counts the same."""
    from scipy.optimize import minimize

    rows = [
        (c.values.astype(np.float64), c.gold / c.gold.sum(), 1 / len(cases) / len(sets))
        for cases in sets
        for c in cases
        if c.gold.any()
    ]

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total, slope = l2 * float(w @ w), 2 * l2 * w
        for values, target, share in rows:
            scores = values @ w
            high = scores.max()
            weights = np.exp(scores - high)
            z = weights.sum()
            total += share * (np.log(z) + high - scores @ target)
            slope = slope + share * (values.T @ (weights / z - target))
        return total, slope

    solved = minimize(loss, np.ones(len(FUNCTION_WEIGHTS)), jac=True, method="L-BFGS-B")
    return np.asarray(solved.x, np.float32)


def judged_by_others(sets: dict[str, list[FunctionCase]], name: str) -> list[int]:
    """Return the places of a set's last gold functions, by weights learned without their repository."""
    cases, places = sets[name], []
    for repository in sorted({case.repository for case in cases}):
        others = [
            [case for case in some if case.repository.rpartition("/")[2] != repository.rpartition("/")[2]]
            for some in sets.values()
        ]
        weights = fit([some for some in others if some])
        places += [worst_place(case, weights) for case in cases if case.repository == repository]
    return places


def show(label: str, places: list[int]) -> None:
    """Print a row of the table."""
    shares = [np.mean([place < k for place in places]) for k in KS]
    print(f"| {label} | {len(places)} | " + " | ".join(f"{share:.3f}" for share in shares) + " |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[], help="repositories")
    parser.add_argument("--mirrors", type=Path, help="a folder of mirrors, for the commit collections")
    parser.add_argument("--keep", type=Path, help="keep the cases in this file, or read them from it")
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        sets: dict[str, list[FunctionCase]] = pickle.loads(options.keep.read_bytes())  # noqa: S301 - our own file
    else:
        cases = cases_of(options.work, options.only)
        sets = {"swebench_dev": [case for case in cases if case.missing or case.gold.any()]}
        if options.mirrors:
            from benchmarks.code_commits import commit_cases

            sets |= commit_cases(options.work, options.mirrors)
        if options.keep:
            options.keep.write_bytes(pickle.dumps(sets, 5))
    print("| functions of | issues | Acc@1 | @3 | @5 | @10 |\n|---|---|---|---|---|---|")
    current = np.array(list(FUNCTION_WEIGHTS.values()), np.float32)
    for name, some in sets.items():
        show(name, [worst_place(case, current) for case in some])
    if options.fit:
        learned = fit(list(sets.values()))
        print({name: round(float(w), 2) for name, w in zip(FUNCTION_WEIGHTS, learned, strict=True)})
        for name in sets:
            show(f"{name}, learned on other repositories", judged_by_others(sets, name))


if __name__ == "__main__":
    main()
