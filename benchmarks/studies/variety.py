"""What do copies and long documents take of the first ten, and does it cost ranking quality to let them give way?

    python -m benchmarks.studies.variety --sets scifact cranfield
    python -m benchmarks.studies.variety --manual FOLDER --queries FILE

The first form judges collections: nDCG@10 and recall@100 of `Engine.retrieve` with every copy and no limit for a
document, as it is, and with the copies that hits name listed after them. The second counts, for the queries of a
file (one a line) over a folder of manuals, the different documents in the first ten, and the different pages: a page
as HTML, as text and in an info file is one page. It prints the CPU time of each way in turns, too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.quality import DATA, MEASURES, SETS
from sleuth import Engine, Ranking, RetrievedItem
from sleuth.engine import WITHOUT_VARIETY
from sleuth.evaluate import make_run, open_collection, score

WAYS: Mapping[str, Mapping[str, Any]] = {
    "all": WITHOUT_VARIETY,
    "without copies": {"per_document": 0},
    "default": {},
}


class Way:
    """A retriever: an engine with options.

    Attributes:
        named: whether copies that a hit names are hits after it.
        copies: how many there were.
    """

    def __init__(self, engine: Engine, options: Mapping[str, Any], *, count_copies: bool = False) -> None:
        self.engine, self.options, self.named = engine, options, count_copies
        self.copies = 0

    def retrieve(self, query: str, k: int = 10, *, filter: Any = None) -> Ranking:
        items = []
        for item in self.engine.retrieve(query, k, filter=filter, **self.options):
            self.copies += len(item.copies)
            items.append(item)
            if self.named:
                items += [RetrievedItem(id=id, text="", score=item.score) for id in item.copies]
        return Ranking(items)


def judge(name: str) -> str:
    """A row of a table: both measures of each way, and copies per query."""
    collection = open_collection(DATA / name)
    with Engine.open(DATA / "bench" / "variety" / name, create=True) as engine:
        if not engine.count().documents:
            engine.add(collection.documents())
        every, default, with_copies = (
            Way(engine, WITHOUT_VARIETY),
            Way(engine, {}),
            Way(engine, {}, count_copies=True),
        )
        means = [
            score(make_run(way, collection.queries, k=100), collection.qrels, MEASURES).means
            for way in (every, default, with_copies)
        ]
    gain = [f"{each['nDCG@10']:.4f}" for each in means]
    recall = [f"{each['R@100']:.4f}" for each in means]
    return f"| {name} | {' | '.join([*gain, *recall])} | {default.copies / len(collection.queries):.2f} |"


def page_of(document: str) -> str:
    """The page that a document is a form of: its name without folder and endings."""
    return Path(document).name.partition(".")[0]


def count(folder: Path, queries: list[str]) -> None:
    """Print distinct documents and pages in the first ten, and the time of a query."""
    with Engine.open(folder / ".sleuth") as engine:
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        print("| | documents | pages | most of one document |\n|---|---|---|---|")
        for way, options in WAYS.items():
            documents, pages, most = [], [], []
            for query in queries:
                names = [item.document_id for item in engine.retrieve(query, **options)]
                documents.append(len(set(names)))
                pages.append(len(set(map(page_of, names))))
                most.append(max(map(names.count, names)))
            values = (documents, pages, most)
            print(f"| {way} | " + " | ".join(f"{statistics.mean(each):.2f}" for each in values) + " |")
        for _ in range(20):
            for way, options in WAYS.items():
                started = time.process_time()
                for query in queries:
                    engine.retrieve(query, **options)
                seconds[way].append((time.process_time() - started) / len(queries))
        for way, times in seconds.items():
            print(
                f"{way}: {statistics.median(times) * 1e3:.3f} ms CPU a query (least {min(times) * 1e3:.3f})"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--manual", type=Path)
    parser.add_argument("--queries", type=Path)
    options = parser.parse_args()
    if options.manual:
        count(options.manual, options.queries.read_text().splitlines())
        return
    columns = [f"{measure}, {way}" for measure in MEASURES for way in ("all", "default", "with named copies")]
    print(f"| | {' | '.join(columns)} | copies a query |")
    print("|---" * (len(columns) + 2) + "|")
    for name in options.sets:
        print(judge(name), flush=True)


if __name__ == "__main__":
    main()
