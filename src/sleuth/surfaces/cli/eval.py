"""sleuth index eval: measures rankings on a collection with judgements."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.arguments import MOST_K
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import JsonOption, print_json
from sleuth.surfaces.cli.places import check_origin
from sleuth.surfaces.cli.terminal import console

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.evaluate import Collection, Run, Scores
    from sleuth.evaluate.measures import Comparison
    from sleuth.types import Document, Ranking

EXAMPLES = """[bold]Examples[/bold]

  sleuth index eval collections/scifact                       the default: words and meaning
  sleuth index eval collections/scifact --leg lexical
  sleuth index eval scifact --leg lexical --against "minmax(lexical=1,dense=0.4)"
  sleuth index eval scifact --run mine.trec --against baseline.trec --plot out.png

A collection is a folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv. It is indexed once, into
.sleuth-eval inside it, which holds nothing else.
"""


@index_commands.command("eval", epilog=EXAMPLES)
def evaluate(
    collection: Annotated[Path, typer.Argument(help="A folder in BEIR layout, or ir_datasets:ID.")],
    split: Annotated[str | None, typer.Option("--split", help="Judgements to use: test, dev, train.")] = None,
    legs: Annotated[
        list[str] | None, typer.Option("--leg", help="lexical or dense; both by default.")
    ] = None,
    fusion: Annotated[str | None, typer.Option("--fusion", help="How the legs are fused.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Judge this TREC run instead of searching.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Compare with a TREC run, a leg or a fusion.")
    ] = None,
    measures: Annotated[
        str, typer.Option("--measures", help="Names of ir_measures, separated by commas.")
    ] = "nDCG@10,R@100,RR,AP",
    k: Annotated[int, typer.Option("-k", "--limit", min=1, help="Documents ranked per query.")] = 100,
    analyzer: Annotated[str | None, typer.Option("--analyzer", help="english, plain or code.")] = None,
    per_query: Annotated[
        bool, typer.Option("--per-query", help="Print a line per query, worst first.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write the run to, in TREC's format.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="File to draw the figures to (PNG, SVG, PDF).")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure rankings on a collection with judgements: nDCG@10, recall@100, MRR and MAP."""
    from sleuth.engine.legs import ranking_legs
    from sleuth.engine.search import check_legs
    from sleuth.evaluate import compare, open_collection, score
    from sleuth.evaluate.measures import parse_measures
    from sleuth.evaluate.runs import read_run, write_run

    measure_names = [name.strip() for name in re.findall(r"(?:\([^()]*\)|[^,])+", measures) or [""]]
    parse_measures(measure_names)
    check_paths(run, against, out, plot)
    legs = legs and list(check_legs(legs, ranking_legs()))
    judged = open_collection(collection, split)
    name = str(run) if run else spell(legs, fusion)
    runs_by_name = read_run(run) if run else search(judged, legs, fusion, k, analyzer)
    scores = {name: score(runs_by_name, judged.qrels, measure_names)}
    comparisons = []
    if against is not None:
        scores = {
            against: score(other_run(judged, against, k, analyzer), judged.qrels, measure_names),
            **scores,
        }
        comparisons = compare(scores[against], scores[name])
    if json:
        print_json(to_json(judged, scores, comparisons, per_query=per_query))
    else:
        print_scores(judged, scores, comparisons)
        if per_query:
            print_queries(judged, scores[name])
    if out:
        write_run(runs_by_name, out)
    if plot:
        from sleuth.evaluate.plots import plot as draw

        draw(scores, plot, judged.name)


def check_paths(run: Path | None, against: str | None, out: Path | None, plot: Path | None) -> None:
    """Refuse paths that cannot be read or written, before any work.

    Raises:
        ArgumentError: names the option and its value.
        MissingPackageError: `--plot` was given and matplotlib is not installed.
    """
    from sleuth.engine.fusion import as_fusion
    from sleuth.engine.legs import ranking_legs

    if run and not run.is_file():
        raise ArgumentError(f"--run must be a TREC run that exists, got {str(run)!r}")
    if against is not None and against not in ranking_legs() and not Path(against).is_file():
        try:
            as_fusion(against)
        except ArgumentError as error:
            raise ArgumentError(
                f"--against must be a TREC run that exists, a leg ({', '.join(ranking_legs())}) or a fusion, "
                f"got {against!r} ({error})"
            ) from None
    for option, path in (("--out", out), ("--plot", plot)):
        if path and (path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK)):
            raise ArgumentError(f"{option} must be a file in a folder that exists, got {str(path)!r}")
    if plot:
        from sleuth.evaluate.plots import check_plot

        check_plot(plot)


def spell(legs: Sequence[str] | None, fusion: str | None) -> str:
    """Return the name of a configuration in tables."""
    from sleuth.engine.fusion import as_fusion

    name = str(as_fusion(fusion))
    return legs[0] if legs and len(legs) == 1 else name


def other_run(judged: Collection, against: str, k: int, analyzer: str | None) -> Run:
    """Return the run to compare with: that of a file, a leg or a fusion."""
    from sleuth.engine.legs import ranking_legs
    from sleuth.evaluate.runs import read_run

    if Path(against).is_file():
        return read_run(against)
    if against in ranking_legs():
        return search(judged, [against], None, k, analyzer)
    return search(judged, None, against, k, analyzer)


class Configured:
    """An engine with its options fixed: a retriever."""

    def __init__(self, engine: Engine, legs: Sequence[str] | None, fusion: str | None) -> None:
        self.engine = engine
        self.legs = legs
        self.fusion = fusion

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
        """Rank as `Engine.retrieve` does, with the fixed options, up to as many as it gives."""
        from sleuth.engine import WITHOUT_VARIETY  # a copy of a relevant passage is relevant

        return self.engine.retrieve(
            query, min(k, MOST_K), filter=filter, legs=self.legs, fusion=self.fusion, **WITHOUT_VARIETY
        )


def search(
    judged: Collection, legs: Sequence[str] | None, fusion: str | None, k: int, analyzer: str | None
) -> Run:
    """Bring the index of the collection up to date, and rank documents for every query."""
    from sleuth.engine import Engine
    from sleuth.evaluate import make_run

    err = console(stderr=True)
    home = judged.folder / (f".sleuth-eval-{analyzer}" if analyzer else ".sleuth-eval")
    check_origin(home, f"remove it to create a new one: rm -r {home}")
    settings = {"analyzer": analyzer} if analyzer else None
    with Engine.open(home, create=True, settings=settings) as engine:
        with err.status(f"indexing {judged.name}") if err.is_terminal else nullcontext():
            index(engine, judged.documents())
        with err.status(f"searching {judged.name}") if err.is_terminal else nullcontext():
            return make_run(Configured(engine, legs, fusion), judged.queries, k=k)


def index(engine: Engine, corpus: Iterable[Document]) -> None:
    """Make the index hold exactly these documents."""
    old_ids = {document.id for document in engine.documents()}

    def counted() -> Iterator[Document]:
        for document in corpus:
            old_ids.discard(document.id or "")
            yield document

    engine.add(counted())
    engine.delete(old_ids)


def to_json(
    judged: Collection, scores: dict[str, Scores], comparisons: list[Comparison], *, per_query: bool
) -> dict[str, Any]:
    """Return all figures for JSON."""
    from dataclasses import asdict

    return {
        "collection": judged.name,
        "queries": len(judged.queries),
        "runs": {
            name: {"means": figures.means, **({"per_query": figures.per_query} if per_query else {})}
            for name, figures in scores.items()
        },
        "comparisons": [asdict(comparison) for comparison in comparisons],
    }


def print_scores(judged: Collection, scores: dict[str, Scores], comparisons: list[Comparison]) -> None:
    """Print the means of each run, and the significance of the difference."""
    from rich.table import Table

    table = Table(title=f"{judged.name}, {len(judged.queries):,} queries", box=None, padding=(0, 2, 0, 0))
    table.add_column("", overflow="fold")
    for measure in next(iter(scores.values())).per_query:
        table.add_column(measure, justify="right")
    for name, figures in scores.items():
        table.add_row(name, *(f"{mean:.4f}" for mean in figures.means.values()))
    if comparisons:
        table.add_row("difference", *(f"{c.second - c.first:+.4f}" for c in comparisons))
        table.add_row("better / worse", *(f"{c.better} / {c.worse}" for c in comparisons))
        table.add_row("p (paired)", *(f"{c.p:.4f}" for c in comparisons))
    console().print(table)


def print_queries(judged: Collection, scores: Scores) -> None:
    """Print a line per query, worst first."""
    from rich.table import Table

    first = next(iter(scores.per_query))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for measure in scores.per_query:
        table.add_column(measure, justify="right")
    table.add_column("query", overflow="ellipsis", no_wrap=True)
    for id in sorted(judged.queries, key=lambda id: (scores.per_query[first][id], id)):
        table.add_row(*(f"{values[id]:.3f}" for values in scores.per_query.values()), judged.queries[id])
    console().print(table)
