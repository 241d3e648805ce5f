"""Which share of the files that commits change stands among the best definitions of the map, by its damping?

python -m benchmarks.studies.code_map_files --work FOLDER

No query and no focus: one ranking for all 300 commits of a collection. The damping was chosen on the first two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.code_collections import Given, Task, beir
from sleuth.code import Snapshot
from sleuth.code.search.repomap import rank_definitions
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

SETS = ("commit_django", "commit_rails", "commit_kafka", "commit_terraform")
DAMPINGS = (0.85, 0.5, 0.25)
BEST = (100, 300, 1_000)


def shares(snapshot: Snapshot, tasks: list[Task], damping: float) -> list[float]:
    """Return the mean share of the gold files that have one of the best definitions, for each of `BEST`."""
    ranking = rank_definitions(snapshot, damping=damping)
    path_sets = [{snapshot.files[item.file].path for item in ranking[:most]} for most in BEST]
    gold = [files for task in tasks if (files := task.gold & snapshot.by_path.keys())]
    return [float(np.mean([len(files & paths) / len(files) for files in gold])) for paths in path_sets]


def main() -> None:
    """Print a row of each collection and damping."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    print(f"| collection | damping | {' | '.join(map(str, BEST))} |\n|---|---|{'---|' * len(BEST)}")
    for name in SETS:
        files, tasks = beir(name)
        with open_code(options.work / name, create=True) as storage:
            report = index_source(storage, Given(Path("/collections") / name, files))
            record = storage.repository(report.repository)
            snapshot = Snapshot(storage, record, storage.snapshot(record, report.snapshot))
            for damping in DAMPINGS:
                row = " | ".join(f"{share:.3f}" for share in shares(snapshot, tasks, damping))
                print(f"| {name} | {damping} | {row} |", flush=True)


if __name__ == "__main__":
    main()
