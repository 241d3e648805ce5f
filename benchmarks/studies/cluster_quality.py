"""Is the quality of rankings over shards that of one index?

python -m benchmarks.studies.cluster_quality [--data .data] [--collections NAME ...] [--shards 4 16]

Indexes each collection once as one index and once for each number of shards, ranks all of its queries by both legs, and
prints a Markdown table: nDCG@10, and how many queries have the same first ten documents as in one index.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from sleuth import Engine
from sleuth.cluster import ShardedEngine
from sleuth.evaluate import Collection, Run, make_run, open_collection, score

MEASURE = "nDCG@10"
K = 10


def ranked(engine: Engine, collection: Collection) -> Run:
    """Add the documents of a collection to an index, and rank them for every query."""
    engine.add(collection.documents())
    return make_run(engine, collection.queries, k=100)


def first_ten(run: Run, query: str) -> list[str]:
    """The documents that a run ranks first, best first."""
    scores = run.get(query, {})
    return sorted(scores, key=lambda id: (-scores[id], id))[:K]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--collections", nargs="+", default=["cranfield", "scifact", "nfcorpus_reduced"])
    parser.add_argument("--shards", nargs="+", type=int, default=[4, 16])
    options = parser.parse_args()
    print(f"| collection | queries | index | {MEASURE} | same first ten |\n|---|---|---|---|---|")
    for name in options.collections:
        collection = open_collection(options.data / name)
        size = len(collection.queries)
        with tempfile.TemporaryDirectory() as folder:
            with Engine.open(Path(folder) / "one", create=True) as engine:
                alone = ranked(engine, collection)
            (mean,) = score(alone, collection.qrels, [MEASURE]).means.values()
            print(f"| {name} | {size:,} | one | {mean:.4f} | |", flush=True)
            for shards in options.shards:
                with ShardedEngine.open(Path(folder) / f"{shards}", create=True, shards=shards) as engine:
                    run = ranked(engine, collection)
                (mean,) = score(run, collection.qrels, [MEASURE]).means.values()
                same = sum(first_ten(run, query) == first_ten(alone, query) for query in collection.queries)
                print(f"| | | {shards} shards | {mean:.4f} | {same:,} of {size:,} |", flush=True)


if __name__ == "__main__":
    main()
