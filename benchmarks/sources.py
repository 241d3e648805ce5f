"""Documents and code together: is the first result of the right source?

    python -m benchmarks.sources NAME=FOLDER:DOCS:CODE ...

For each project it indexes the documents in FOLDER/DOCS and the code in FOLDER/CODE, asks the questions that
`data/source_questions.json` has for NAME, and prints for how many of them the first result is of the right source, and
for how many one of the first three is, with the CPU time of a search. `by rank` fuses the two rankings by reciprocal
rank, `by share` orders all hits by `score_texts` alone. Fetch the files of a project first; `git archive HEAD docs src`
leaves out these questions:

    python -m benchmarks.sources sleuth=../copy:docs:src click=../click:docs:src/click
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sleuth import Engine, RetrievedItem, Sources, index_path, open_code, open_sources
from sleuth.compose import FusedRetriever
from sleuth.compose.labelled import LabelledRetriever
from sleuth.engine import score_texts

QUESTIONS = Path(__file__).parent / "data" / "source_questions.json"
POOL = 10


def by_rank(sources: Sources, query: str) -> str:
    """Return the source of the first hit when rankings are fused by reciprocal rank."""
    labelled = {
        name: LabelledRetriever(retriever, name.partition(":")[0])
        for name, retriever in sources.retrievers.items()
    }
    return first_of(list(FusedRetriever(labelled, method="rrf", pool=POOL).retrieve(query, 1)))


def by_share(sources: Sources, query: str) -> str:
    """Return the source of the hit whose text holds most of the query."""
    hits = [hit for name in sources.retrievers for hit in sources.retrieve(query, POOL, sources=[name])]
    shares = score_texts(query, [hit.text for hit in hits])
    return first_of([hits[shares.index(max(shares))]] if hits else [])


def on_scale(sources: Sources, query: str) -> str:
    """Return the source of the first hit."""
    return first_of(list(sources.retrieve(query, POOL)))


def first_of(hits: Sequence[RetrievedItem]) -> str:
    """Return the source of the first of some hits."""
    return str(hits[0].metadata["source_type"]) if hits else ""


RANKINGS: dict[str, Callable[[Sources, str], str]] = {
    "by rank": by_rank,
    "by share": by_share,
    "on one scale": on_scale,
}


def measure(name: str, sources: Sources, questions: Mapping[str, Sequence[str]]) -> None:
    """Print a row for each kind of question."""
    on_scale(sources, "warm up")
    for kind, queries in questions.items():
        counts = [sum(ranking(sources, query) == kind for query in queries) for ranking in RANKINGS.values()]
        began = time.process_time()
        for query in queries:
            sources.retrieve(query, POOL)
        cpu = (time.process_time() - began) / len(queries) * 1e3
        types = [[hit.metadata["source_type"] for hit in sources.retrieve(query, 3)] for query in queries]
        cells = " | ".join(map(str, [*counts, sum(kind in some for some in types)]))
        print(f"| {name} | {len(queries)} about {kind} | {cells} | {cpu:.1f} |", flush=True)


@contextmanager
def open_project(spelling: str) -> Iterator[tuple[str, Sources]]:
    """Index the documents and the code of a project, and yield its name with both as sources.

    Args:
        spelling: NAME=FOLDER:DOCS:CODE.
    """
    name, _, place = spelling.partition("=")
    folder, documents, code = place.split(":")
    with tempfile.TemporaryDirectory() as index:
        with Engine.open(index, create=True) as engine:
            engine.index([Path(folder, documents)])
        with open_code(index, create=True) as storage:
            index_path(storage, Path(folder, code))
        with open_sources(index, ["docs", "code"]) as sources:
            yield name, sources


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("projects", nargs="+", metavar="NAME=FOLDER:DOCS:CODE")
    questions = json.loads(QUESTIONS.read_text())
    print(f"| project | questions | {' | '.join(RANKINGS)} | among three | CPU ms |")
    print(f"|---|---|{'---|' * (len(RANKINGS) + 2)}")
    for project in parser.parse_args().projects:
        with open_project(project) as (name, sources):
            measure(name, sources, questions[name])


if __name__ == "__main__":
    main()
