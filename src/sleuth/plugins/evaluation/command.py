"""sleuth index eval: measures rankings on a collection with judgements."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from sleuth.arguments import MOST_K
from sleuth.errors import ArgumentError
from sleuth.surfaces.cli import Bar, Output, check_origin, command
from sleuth.surfaces.cli.app import index_commands

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.plugins.evaluation import Collection, Run
    from sleuth.protocols import Retriever

EXAMPLES = """
  sleuth index eval collections/scifact                       the default: words and meaning
  sleuth index eval collections/scifact --leg lexical
  sleuth index eval collections/scifact --fusion "minmax(lexical=1,dense=0.2)"

A collection is a folder in BEIR layout: corpus.jsonl, queries.jsonl, qrels/<split>.tsv. It is indexed once, into
.sleuth-eval inside it, which holds nothing else.
"""


@command(index_commands, "eval", EXAMPLES)
def evaluate(
    collection: Annotated[Path, "A folder in BEIR layout, or ir_datasets:ID."],
    *,
    split: Annotated[str | None, "Judgements to use: test, dev, train."] = None,
    legs: Annotated[list[str] | None, "lexical or dense; both by default."] = None,
    fusion: Annotated[str | None, "How the legs are fused."] = None,
    measures: Annotated[str, "Names of ir_measures, separated by commas."] = "nDCG@10,R@100,RR,AP",
    k: Annotated[int, "Documents ranked per query.", Ge(1)] = 100,
    show: Bar,
) -> Output:
    """Measure rankings on a collection with judgements: nDCG@10, recall@100, MRR and MAP."""
    from sleuth.engine import Fusion, ranking_legs
    from sleuth.plugins.evaluation import open_collection, score
    from sleuth.plugins.evaluation.measures import parse_measures

    measure_names = [name.strip() for name in re.findall(r"(?:\([^()]*\)|[^,])+", measures) or [""]]
    parse_measures(measure_names)
    if fusion is not None:
        Fusion.parse(fusion)
    if unknown := set(legs or ()).difference(ranking_legs()):
        raise ArgumentError(f"--leg must be one of {', '.join(ranking_legs())}, got {min(unknown)!r}")
    judged = open_collection(collection, split)
    means = score(search(judged, legs, fusion, k, show), judged.qrels, measure_names).means
    noun = "query" if len(judged.queries) == 1 else "queries"
    lines = [f"{judged.name}, {len(judged.queries):,} {noun}"]
    lines += [f"{mean:.4f}  {name}" for name, mean in means.items()]
    return Output({"collection": judged.name, "queries": len(judged.queries), "means": means}, lines)


def configured(engine: Engine, legs: Sequence[str] | None, fusion: str | None) -> Retriever:
    """Return the retriever of an engine with its options fixed."""
    from sleuth.engine import WITHOUT_VARIETY  # a copy of a relevant passage is relevant

    return replace(engine.unhooked, options={"legs": legs, "fusion": fusion, **WITHOUT_VARIETY})


def search(
    judged: Collection, legs: Sequence[str] | None, fusion: str | None, k: int, show: Callable[..., None]
) -> Run:
    """Bring the index of the collection up to date, and rank documents for every query."""
    from sleuth.engine import Engine
    from sleuth.plugins.evaluation import make_run

    home = judged.folder / ".sleuth-eval"
    check_origin(home, "remove it to create a new one: rm -r {}")
    with Engine.open(home, create=True) as engine:
        show(f"indexing {judged.name}")
        engine.add(judged.documents())
        engine.delete({document.id for document in engine.documents()} - {d.id for d in judged.documents()})
        show(f"searching {judged.name}")
        return make_run(configured(engine, legs, fusion), judged.queries, k=min(k, MOST_K))
