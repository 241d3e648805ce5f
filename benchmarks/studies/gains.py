"""How much does the default ranking gain over words alone, on collections of many kinds, and how sure is that?

    python -m benchmarks.collections       # makes sixteen of them
    python -m benchmarks.studies.gains --plot docs/measured/gains.png

Prints nDCG@10 of words and of meaning for each collection, the gain of the default with its 95 % interval over queries,
and the mean gain with its standard error over collections. At most 200 queries and 20,000 documents of each are used.
Collections are folders in BEIR layout under .data/ and .data/made/.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.quality import DATA, SETS
from benchmarks.studies.robustness import sample
from sleuth import Engine
from sleuth.evaluate import make_run, open_collection, score
from sleuth.surfaces.cli.eval import Configured

MEASURE = "nDCG@10"
QUESTIONS_ABOUT_CODE = ["cosqa", "conala", "codenn_csharp", "codenn_sql"]
LEGS = (["lexical"], ["dense"], None)


class Gain(NamedTuple):
    """The means of a collection, and the difference of default and words query by query."""

    name: str
    words: float
    meaning: float
    differences: list[float]

    @property
    def mean(self) -> float:
        """The mean difference."""
        return statistics.fmean(self.differences)

    @property
    def interval(self) -> float:
        """Half the width of its 95 % interval."""
        return 1.96 * standard_error(self.differences)


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean of values; 0 for one value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def folders() -> list[Path]:
    """Return the folders of all collections that are there."""
    judged = [DATA / name for name in (*SETS, *QUESTIONS_ABOUT_CODE)]
    generated = sorted(path for path in (DATA / "made").glob("*") if path.is_dir())
    return [path for path in (*judged, *generated) if path.is_dir()]


def measure(folder: Path, queries: int, documents: int) -> Gain:
    """Index a sample of a collection and rank its queries."""
    collection, texts = sample(open_collection(folder), queries, documents)
    with tempfile.TemporaryDirectory() as home, Engine.open(Path(home) / "index", create=True) as engine:
        engine.add(texts)
        runs = [make_run(Configured(engine, legs, None), collection.queries, k=100) for legs in LEGS]
    words, meaning, default = (score(run, collection.qrels, [MEASURE]) for run in runs)
    before, after = words.per_query[MEASURE], default.per_query[MEASURE]
    differences = [after[query] - before[query] for query in sorted(before)]
    return Gain(folder.name, words.means[MEASURE], meaning.means[MEASURE], differences)


def draw(gains: Sequence[Gain], path: Path) -> None:
    """Draw the gain of each collection with its interval, the greatest on top."""
    from matplotlib.figure import Figure

    ordered = sorted(gains, key=lambda gain: gain.mean)
    figure = Figure(figsize=(7, 1 + 0.24 * len(ordered)), layout="constrained")
    axes = figure.subplots()
    axes.errorbar(
        [gain.mean for gain in ordered],
        range(len(ordered)),
        xerr=[gain.interval for gain in ordered],
        fmt="o",
        capsize=2,
    )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(ordered)), [gain.name for gain in ordered])
    axes.set_xlabel("nDCG@10 of the default less that of words, 95 % interval over queries")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    gains = []
    print("| collection | words | meaning | gain of the default |\n|---|---|---|---|")
    for folder in folders():
        gain = measure(folder, options.queries, options.documents)
        gains.append(gain)
        print(
            f"| {gain.name} | {gain.words:.3f} | {gain.meaning:.3f} | {gain.mean:+.3f} ± {gain.interval:.3f} |",
            flush=True,
        )
    means = [gain.mean for gain in gains]
    mean, error = statistics.fmean(means), standard_error(means)
    print(f"| **mean of {len(gains)}** | | | **{mean:+.4f}**, standard error {error:.4f} |")
    if options.plot:
        draw(gains, options.plot)


if __name__ == "__main__":
    main()
