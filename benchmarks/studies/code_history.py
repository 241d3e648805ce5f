"""Do the messages of the commits that touched a file help to find it? The program does not use them.

python -m benchmarks.studies.code_history --work FOLDER MIRROR=COMMIT=COLLECTION...

MIRROR is a git repository, COMMIT the one that the collection (`commit_kafka`) is a snapshot of; only its ancestors are
read. The messages of the commits that touched a file are one document of that file, searched by BM25 with the title of
the query; commits that touch over 100 files are left out. It counts as one more signal beside those of `ranking.py`.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import defaultdict
from pathlib import Path

import bm25s
import numpy as np

from benchmarks.code_collections import Given, beir
from benchmarks.code_quality import Case, evaluate, show
from sleuth.code import Snapshot
from sleuth.code.search import ranking
from sleuth.code.search.query import read_query
from sleuth.code.search.ranking import rank_files
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code
from sleuth.text import get_analyzer

WEIGHTS = (0.0, 1.0, 2.0, 3.0)
MOST_FILES = 100


def documents(mirror: Path, commit: str) -> dict[str, list[str]]:
    """Return the terms of the messages of a commit's ancestors, by the paths that these touched."""
    options = ("--no-renames", "--name-only", "-z", "--format=%x01%B%x02", "--end-of-options", commit)
    process = subprocess.run(["git", "-C", mirror, "log", *options], check=True, capture_output=True)
    analyzer = get_analyzer("code-english")
    terms_by_path: dict[str, list[str]] = defaultdict(list)
    for entry in process.stdout.decode("utf-8", "replace").split("\x01")[1:]:
        message, _, names = entry.rpartition("\x02")
        paths = [path for name in names.split("\0") if (path := name.strip("\n"))]
        terms = list(analyzer.tokens(message))
        for path in paths if len(paths) <= MOST_FILES else ():
            terms_by_path[path] += terms
    return terms_by_path


def cases(work: Path, collection: str, mirror: Path, commit: str) -> list[Case]:
    """Return the signals of all files for each query, that of history last."""
    files, tasks = beir(collection)
    touched = documents(mirror, commit)
    case_list = []
    with open_code(work / collection, create=True) as storage:
        report = index_source(storage, Given(Path("/collections") / collection, files))
        record = storage.repository(report.repository)
        snapshot = Snapshot(storage, record, storage.snapshot(record, report.snapshot))
        index = bm25s.BM25()
        index.index([touched.get(file.path, [""]) for file in snapshot.files], show_progress=False)
        for task in tasks:
            query = read_query(task.text)
            order = rank_files(snapshot, query)
            history = index.get_scores(list(query.title))
            values = [
                *(order.signals.values[name] for name in ranking.WEIGHTS),
                history / max(history.max(), 1e-9),
            ]
            gold = [snapshot.by_path[path] for path in task.gold if path in snapshot.by_path]
            mask = np.isin(np.arange(len(snapshot.files)), gold)
            case_list.append(Case(task.id, np.stack(values), mask, len(task.gold) - len(gold), []))
    return case_list


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collections", nargs="+", metavar="MIRROR=COMMIT=COLLECTION")
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    print("| collection | Acc@1 | @3 | @5 | @10 | MRR |\n|---|---|---|---|---|---|")
    for argument in options.collections:
        mirror, commit, collection = argument.split("=")
        case_list = cases(options.work, collection, Path(mirror), commit)
        for weight in WEIGHTS:
            weights = np.array([*ranking.WEIGHTS.values(), weight], np.float32)
            show(f"{collection}, history {weight:g}", evaluate(case_list, weights))


if __name__ == "__main__":
    main()
