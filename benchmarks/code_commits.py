"""The functions that the commits of the collections `commit_*` changed, read from mirrors of their repositories.

A collection has one snapshot, older than its commits. A function is gold if the commit changes its lines and the
snapshot has one of that name in the same file. Commits without such a function are left out. Mirrors lie in one
folder, named as in `MIRRORS`: `git clone --mirror https://github.com/apache/kafka FOLDER/kafka`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.code_collections import Given, Task, beir
from benchmarks.code_functions import FunctionCase, changed_lines, is_changed
from sleuth.code import Snapshot
from sleuth.code.parsing.languages import language_of
from sleuth.code.parsing.parse import parse_source
from sleuth.code.search.functions import function_signals, outer_functions
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

MIRRORS = ("django", "kafka", "rails", "terraform")


def commit_cases(work: Path, mirrors: Path) -> dict[str, list[FunctionCase]]:
    """Return the cases of each collection whose mirror is there; snapshots that are not indexed in `work` are."""
    names = [name for name in MIRRORS if (mirrors / name).is_dir()]
    return {f"commit_{name}": list(_cases(f"commit_{name}", work, mirrors / name)) for name in names}


def _cases(collection: str, work: Path, mirror: Path) -> Iterator[FunctionCase]:
    files, tasks = beir(collection)
    with open_code(work / collection, create=True) as storage:
        report = index_source(storage, Given(Path("/collections") / collection, files))
        repository = storage.repository(report.repository)
        snapshot = Snapshot(storage, repository, storage.snapshot(repository, report.snapshot))
        for task in tasks:
            if gold := _gold(snapshot, mirror, task):
                query = read_query(task.text)
                signals = function_signals(snapshot, query, rank_files(snapshot, query))
                mask = np.array([tuple(function) in gold for function in signals.functions], bool)
                missing = len(gold) - int(mask.sum())
                yield FunctionCase(task.id, mirror.name, signals.values, mask, missing)


def _gold(snapshot: Snapshot, mirror: Path, task: Task) -> set[tuple[int, int]]:
    """Return the functions of the snapshot that a commit changes, by file and symbol."""
    options = ("-m", "--first-parent", "--format=", "--no-renames", "--unified=1")
    gold = set()
    for path, places in changed_lines(
        _git(mirror, "show", *options, task.id).decode("utf-8", "replace")
    ).items():
        language = language_of(path)
        if path not in snapshot.by_path or language is None:
            continue
        before = parse_source(_git(mirror, "show", f"{task.id}^:{path}"), language.name, path).symbols
        names = {
            before[at].qualified
            for at in set(outer_functions(before)) - {-1}
            for place in places
            if is_changed(before[at], place)
        }
        file = snapshot.by_path[path]
        symbols = snapshot.detail(snapshot.files[file]).symbols
        gold |= {(file, at) for at in set(outer_functions(symbols)) - {-1} if symbols[at].qualified in names}
    return gold


def _git(mirror: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", mirror, *arguments], check=True, capture_output=True).stdout
