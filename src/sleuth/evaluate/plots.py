"""Plots that compare runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.evaluate.measures import Scores


def check_plot(path: str | Path) -> None:
    """Check that `plot` can write this file.

    Raises:
        ArgumentError: an ending other than .png, .svg or .pdf.
        MissingPackageError: matplotlib is not installed.
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ArgumentError(f"plot must end in .png, .svg or .pdf, got {str(path)!r}")
    try:
        import matplotlib.figure  # noqa: F401 - checks that it is installed
    except ImportError as error:
        raise MissingPackageError("matplotlib", "eval", "plotting") from error


def plot(scores: Mapping[str, Scores], path: str | Path, title: str = "") -> None:
    """Draw the mean of each measure as bars, for each run.

    With exactly two runs, draw also the difference per query, second minus first, of the first measure.

    Args:
        scores: by the name of the run.
        path: its ending chooses the format.
    """
    check_plot(path)
    from matplotlib.figure import Figure

    names = list(scores)
    measures = list(scores[names[0]].per_query)
    figure = Figure(figsize=(10 if len(names) == 2 else 6, 4), layout="constrained")
    axes = figure.subplots(1, 2 if len(names) == 2 else 1, squeeze=False)[0]
    means_axes = axes[0]
    width = 0.8 / len(names)  # a fifth of the width separates the measures
    for at, name in enumerate(names):
        means = scores[name].means
        places = [i + (at - (len(names) - 1) / 2) * width for i in range(len(measures))]
        bars = means_axes.bar(places, [means[m] for m in measures], width, label=name)
        means_axes.bar_label(bars, fmt="%.3f", fontsize=7)
    means_axes.set_xticks(range(len(measures)), measures)
    means_axes.set_ylim(0, 1.05)  # room for the numbers above the bars
    means_axes.set_title(title)
    means_axes.legend(fontsize=8)
    if len(names) == 2:
        first, second = (scores[name].per_query[measures[0]] for name in names)
        differences = sorted((second[query] - first[query] for query in first), reverse=True)
        differences_axes = axes[-1]
        differences_axes.bar(range(len(differences)), differences, 1.0)
        differences_axes.axhline(0, color="black", linewidth=0.8)
        differences_axes.set_title(f"{measures[0]}: {names[-1]} − {names[0]}, per query")
        differences_axes.set_xlabel("queries, best first")
    figure.savefig(path, dpi=150)
