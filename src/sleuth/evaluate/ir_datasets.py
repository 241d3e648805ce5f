"""Test collections of the package ir_datasets, by their ids, such as `beir/scifact/test` and `vaswani`.

The package reads what lies in its own folder, and downloads what does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sleuth.errors import EvaluationError, MissingPackageError
from sleuth.evaluate.collections import Collection, Qrels
from sleuth.types import Document


@dataclass(frozen=True, slots=True)
class IrCollection(Collection):
    """Queries with judgements over a corpus of ir_datasets.

    Attributes:
        dataset: an object of ir_datasets.
    """

    dataset: Any

    def documents(self) -> Iterator[Document]:
        """Yield the corpus; ids are those of the judgements."""
        for row in self.dataset.docs_iter():
            title, text = getattr(row, "title", ""), getattr(row, "text", None)
            if text is None:
                title, text = "", row.default_text()
            yield Document(text, {"title": title} if title else {}, id=row.doc_id)


def open_ir_dataset(id: str) -> IrCollection:
    """Open a collection by its id; `ir_datasets.registry.register` names files of your own.

    Raises:
        EvaluationError: an unknown id, one without documents, queries or judgements, or a failed download.
        MissingPackageError: ir_datasets is not installed.
    """
    try:
        import ir_datasets
    except ImportError as error:
        raise MissingPackageError("ir-datasets", "ir-datasets", f"the collection {id!r}") from error
    try:
        dataset = ir_datasets.load(id)
    except (KeyError, ValueError) as error:
        raise EvaluationError(f"id must be one of https://ir-datasets.com, got {id!r}") from error
    if missing := [name for name in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{name}")()]:
        raise EvaluationError(
            f"id must name a collection with docs, queries and qrels, got {id!r} without {missing}"
        )
    qrels: Qrels = {}
    try:
        for row in dataset.qrels_iter():
            qrels.setdefault(row.query_id, {})[row.doc_id] = int(row.relevance)
        queries = {
            row.query_id: row.default_text() for row in dataset.queries_iter() if row.query_id in qrels
        }
    except (OSError, RuntimeError) as error:
        raise EvaluationError(
            f"{id} must be downloaded or lie in {ir_datasets.util.home_path()}: {error}"
        ) from error
    qrels = {query: judged for query, judged in qrels.items() if query in queries}
    folder = Path(ir_datasets.util.home_path()) / "sleuth" / id
    folder.mkdir(parents=True, exist_ok=True)
    return IrCollection(id, folder, queries, qrels, dataset)
