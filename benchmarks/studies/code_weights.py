"""What weight does the vector leg earn in a hybrid search of code? Prints the MRR of the first gold file by weight.

python -m benchmarks.studies.code_weights --work /tmp/code-weights    # every collection, 100 tasks of each
python -m benchmarks.studies.code_weights --work /tmp/code-weights --sets cosqa --tasks 500
python -m benchmarks.studies.code_weights --work /tmp/code-weights --embedder onnx:all-MiniLM-L6-v2 --files 600

`--files` takes that many files of each collection, with all that answer the tasks.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from benchmarks.code_collections import COMMITS, Given, Task, beir
from sleuth.code import CodeRetriever
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import default_embedder, open_code, open_embedder

SETS = (*(f"commit_{name}" for name in COMMITS), "cosqa")
SUFFIXES = {"cosqa": ".py", "conala": ".py", "codenn_sql": ".sql", "codenn_csharp": ".cs"}
WEIGHTS = (0.0, 0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
LIMIT = 60
"""Hits of a query, of which the first of each file counts."""


def reciprocal_rank(paths: list[str], task: Task) -> float:
    """Return 1 / the rank of the first gold file, 0 without such a file."""
    order = list(dict.fromkeys(paths))
    return max((1 / (1 + order.index(path)) for path in task.gold if path in order), default=0.0)


def measure(name: str, work: Path, most: int, size: int, embedder: Any) -> dict[str, float]:
    """Return the mean reciprocal rank by strategy, and by weight of the vector leg in hybrid."""
    files, tasks = beir(name, suffix=SUFFIXES.get(name, ""))
    gold = {path for task in tasks[:most] for path in task.gold}
    others = [path for path, _ in files if path not in gold]
    size = min(size or len(files), len(files))
    paths = gold | set(random.Random(5).sample(others, max(0, size - len(gold))))
    files = [(path, text) for path, text in files if path in paths]
    sums: dict[str, float] = {}
    with open_code(work / name, create=True) as storage:
        report = index_source(storage, Given(Path("/collections") / name, files))
        retriever = CodeRetriever(storage, embedder)
        for task in tasks[:most]:
            runs = {
                f"{weight:g}": {"strategy": "hybrid", "weights": {"vector": weight}} for weight in WEIGHTS
            }
            for label, options in {"words": {"strategy": "keyword"}, **runs}.items():
                hits = retriever.retrieve(task.text, report.repository, limit=LIMIT, explain=False, **options)  # type: ignore[arg-type]
                rank = reciprocal_rank([hit.file_path for hit in hits], task)
                sums[label] = sums.get(label, 0.0) + rank
    return {label: total / len(tasks[:most]) for label, total in sums.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="a folder for indexes")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--files", type=int, default=0, help="of each collection; all by default")
    parser.add_argument("--embedder", default="", help="onnx:MODEL; the default embedder by default")
    options = parser.parse_args()
    embedder = open_embedder(options.embedder) if options.embedder else default_embedder()
    print("| collection | words | " + " | ".join(f"{weight:g}" for weight in WEIGHTS) + " |")
    print("|---|" + "---|" * (len(WEIGHTS) + 1))
    for name in options.sets:
        means = measure(name, options.work, options.tasks, options.files, embedder)
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
