"""How good are the rankings, on all test collections at once, beside the peers?

    make bench-quality
    python -m benchmarks.quality --sets scifact cranfield --systems lexical hybrid bm25s

Prints nDCG@10 and recall@100 per collection and system, and the paired p of hybrid against lexical. Collections are
folders in BEIR layout under .data/; those that are absent are left out, and named, as are peers that are not installed.
A peer that needs an environment of its own is measured there with --json FILE; --add FILE puts it in the tables here.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.quality_peers import PEERS, K
from sleuth import Engine
from sleuth.plugins.evaluation import Collection, Run, Scores, make_run, open_collection, score
from sleuth.plugins.evaluation.command import configured

MEASURES = ("nDCG@10", "R@100")
DATA = Path(__file__).parents[1] / ".data"
SETS = [
    "scifact", "nfcorpus_reduced", "cranfield", "cisi", "cacm", "checkthat2020", "climatefever_sents",
    "birco_wtb_dev", "birco_dorismae_dev", "xquad_en", "arxiv_title2abs",
]  # fmt: skip


def sleuth(legs: list[str] | None, fusion: str | None = None) -> Callable[[Collection], Run]:
    def run(collection: Collection) -> Run:
        home = DATA / "bench" / "quality" / collection.folder.name
        with Engine.open(home, create=True) as engine:
            if not engine.status()["documents"]:
                engine.add(collection.documents())
            return make_run(configured(engine, legs, fusion), collection.queries, k=K)

    return run


SYSTEMS: dict[str, Callable[[Collection], Run]] = {
    "lexical": sleuth(["lexical"]),
    "dense": sleuth(["dense"]),
    "hybrid": sleuth(None),
    "rrf": sleuth(None, "rrf"),
    **PEERS,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fresh", action="store_true", help="index again")
    parser.add_argument("--add", type=Path, nargs="*", default=[], help="figures that --json kept elsewhere")
    options = parser.parse_args()
    if options.fresh:
        shutil.rmtree(DATA / "bench" / "quality", ignore_errors=True)
    results: dict[str, dict[str, Scores]] = {}
    missing: dict[str, str] = {}
    for name in options.sets:
        if (DATA / name).is_dir():
            results[name] = measure(open_collection(DATA / name), options.systems, missing)
        else:
            print(f"{name} is not there and left out", file=sys.stderr)
    for path in options.add:
        for name, row in json.loads(path.read_text()).items():
            results.setdefault(name, {}).update({s: Scores(values) for s, values in row.items()})
    for measure_name in MEASURES:
        print(table(results, measure_name))
    for system, reason in missing.items():
        print(f"{system} is left out: {reason}")
    if options.json:
        per_query = {
            name: {s: scores.per_query for s, scores in row.items()} for name, row in results.items()
        }
        options.json.write_text(json.dumps(per_query))


def measure(collection: Collection, systems: list[str], missing: dict[str, str]) -> dict[str, Scores]:
    """Return the scores of every system; `missing` names systems that are not installed, with the reason."""
    scores_by_system: dict[str, Scores] = {}
    for system in systems:
        started = time.perf_counter()
        try:
            run = SYSTEMS[system](collection)
        except ImportError as error:
            missing[system] = str(error)
            continue
        scores_by_system[system] = score(run, collection.qrels, MEASURES)
        seconds = time.perf_counter() - started
        print(
            f"{collection.name} {system}: {scores_by_system[system].means} in {seconds:.1f} s",
            file=sys.stderr,
        )
    return scores_by_system


def table(results: dict[str, dict[str, Scores]], measure: str) -> str:
    """One measure as Markdown: a row per collection, a column per system."""
    systems = list(dict.fromkeys(system for row in results.values() for system in row))
    lines = [
        f"| {measure} | " + " | ".join(systems) + " | hybrid − lexical (p) |",
        "|---" * (len(systems) + 2) + "|",
    ]
    for name, row in results.items():
        cells = [f"{row[s].means[measure]:.3f}" if s in row else "–" for s in systems]
        cell = "–"
        if {"lexical", "hybrid"} <= row.keys():
            gain = row["hybrid"].means[measure] - row["lexical"].means[measure]
            cell = f"{gain:+.3f} ({paired_p(row['lexical'], row['hybrid'], measure):.3f})"
        lines.append(f"| {name} | " + " | ".join([*cells, cell]) + " |")
    lines.append(means(f"mean of {len(results)}", list(results.values()), systems, measure))
    shared = [row for row in results.values() if row.keys() >= set(systems)]
    if 0 < len(shared) < len(results):
        lines.append(means(f"mean of the {len(shared)} that all ranked", shared, systems, measure))
    return "\n".join([*lines, ""])


def paired_p(first: Scores, second: Scores, measure: str, rounds: int = 10_000) -> float:
    """Return how often random signs make the mean difference at least as large: Fisher's paired test, two-sided.

    Source: Smucker, Allan and Carterette, "A comparison of statistical significance tests for information retrieval
    evaluation", CIKM 2007.
    """
    one, two = first.per_query[measure], second.per_query[measure]
    differences = np.array([two[query] - one[query] for query in one])
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (rounds, len(differences)))
    extreme = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    return float((extreme.sum() + 1) / (rounds + 1))


def means(label: str, rows: list[dict[str, Scores]], systems: list[str], measure: str) -> str:
    """A row of means; none for a system that did not rank all."""
    cells = [
        f"**{statistics.fmean(row[s].means[measure] for row in rows):.3f}**"
        if all(s in row for row in rows)
        else "–"
        for s in systems
    ]
    return f"| **{label}** | " + " | ".join(cells) + " | |"


if __name__ == "__main__":
    main()
