"""Test collections: corpus, queries, judgements. In BEIR layout, or of the package ir_datasets.

A folder with `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels/<split>.tsv`
(`query-id`, `corpus-id`, `score`; a header line).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sleuth.errors import EvaluationError, requires
from sleuth.types import Document

Qrels = dict[str, dict[str, int]]
"""Judgements: query id to document id to relevance, 0 for not relevant."""


_HEADER = re.compile("[A-Za-z][A-Za-z _-]*")
_RELEVANCE = re.compile("-?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Collection:
    """Queries with judgements over a corpus.

    Attributes:
        name: of the folder, followed by the split unless that is "test".
        queries: text by id; only queries that have judgements.
    """

    name: str
    folder: Path
    queries: dict[str, str]
    qrels: Qrels

    def documents(self) -> Iterator[Document]:
        """Yield the corpus; ids are those of the judgements.

        Raises:
            EvaluationError: a malformed line, or no document at all.
        """
        path, row = self.folder / "corpus.jsonl", None
        for row in _rows(path):
            title = str(row.get("title") or "")
            yield Document(row["text"], {"title": title} if title else {}, id=row["_id"])
        if row is None:
            raise EvaluationError(f"{path} must hold at least one document, got none")


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


def open_collection(folder: str | Path, split: str | None = None) -> Collection:
    """Open a collection in BEIR layout, or one of the package ir_datasets.

    Args:
        folder: a folder, or "ir_datasets:ID", such as "ir_datasets:beir/scifact/test".
        split: name of a file in `qrels/`; None means "test", else "dev", else the first one.

    Raises:
        EvaluationError: a missing file; a missing split (the message lists the splits); a malformed line; a judged
            query without a text, or with two.
    """
    prefix, _, id = str(folder).partition(":")
    if prefix == "ir_datasets" and id:
        if split is not None:
            raise EvaluationError(
                f"split must be a part of the id of ir_datasets, got {split!r} beside {id!r}"
            )
        return _open_ir_dataset(id)
    home = Path(folder)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels"):
        if not (home / name).exists():
            raise EvaluationError(
                f"{home} must hold corpus.jsonl, queries.jsonl and qrels/<split>.tsv, and lacks {name}"
            )
    splits = sorted(path.stem for path in (home / "qrels").glob("*.tsv"))
    split_name = split or next(
        (name for name in ("test", "dev") if name in splits), splits[0] if splits else "test"
    )
    if split_name not in splits:
        raise EvaluationError(
            f"split must be among {', '.join(splits) or '(none)'} in {home}, got {split_name!r}"
        )
    qrels = read_qrels(home / "qrels" / f"{split_name}.tsv")
    queries: dict[str, str] = {}
    for row in _rows(home / "queries.jsonl"):
        if row["_id"] in qrels and queries.setdefault(row["_id"], row["text"]) != row["text"]:
            raise EvaluationError(f"{home / 'queries.jsonl'} must hold one text of {row['_id']!r}, got two")
    if missing_ids := sorted(qrels.keys() - queries.keys()):
        raise EvaluationError(
            f"{home / 'queries.jsonl'} lacks {len(missing_ids)} judged queries, such as {missing_ids[0]!r}"
        )
    name = home.resolve().name
    return Collection(name if split_name == "test" else f"{name}/{split_name}", home, queries, qrels)


def _open_ir_dataset(id: str) -> IrCollection:
    """Open a collection of ir_datasets by its id; only judged queries are kept.

    To use your own files, register them first with `ir_datasets.registry.register`.
    """
    with requires("ir-datasets", "ir-datasets", f"the collection {id!r}"):
        import ir_datasets
    try:
        dataset = ir_datasets.load(id)
    except (KeyError, ValueError) as error:
        raise EvaluationError(f"id must be one of https://ir-datasets.com, got {id!r}") from error
    if gaps := [name for name in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{name}")()]:
        raise EvaluationError(
            f"id must name a collection with docs, queries and qrels, got {id!r} without {gaps}"
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
    folder.mkdir(parents=True, exist_ok=True)  # `sleuth index eval` puts the index of the collection there
    return IrCollection(id, folder, queries, qrels, dataset)


def read_qrels(path: Path) -> Qrels:
    """Read judgements: tab-separated lines of query, document and relevance.

    A first line whose third field consists of letters is a header.

    Raises:
        EvaluationError: a malformed line, or one that contradicts another (the message names it); no judgement at all.
    """
    qrels: Qrels = {}
    for number, line in numbered_lines(path):
        row = line.split("\t")
        query, document, judged = row if len(row) == 3 else ("", "", "")
        if number == 1 and _HEADER.fullmatch(judged):
            continue
        if not _RELEVANCE.fullmatch(judged):
            raise EvaluationError(
                f"{path}:{number} must hold query, document and relevance, an integer, between tabs, got {row!r}"
            )
        relevance = int(judged)
        if (first := qrels.setdefault(query, {}).setdefault(document, relevance)) != relevance:
            raise EvaluationError(
                f"{path}:{number} must judge {document!r} for {query!r} as before, {first}, got {relevance}"
            )
    if not qrels:
        raise EvaluationError(f"{path} must judge at least one query, got none")
    return qrels


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file that are not blank, with their numbers, from 1.

    Raises:
        EvaluationError: a file that cannot be read, or a line that is not UTF-8.
    """
    number = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise EvaluationError(
            f"{path}:{number} must be UTF-8 ({error.reason} at byte {error.start + 1})"
        ) from None
    except OSError as error:
        raise EvaluationError(f"{path} must be a file that can be read ({error.strerror})") from error


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines; `_id` and `text` of each are strings that UTF-8 can hold."""
    for number, line in numbered_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise EvaluationError(f"{path}:{number} must be a line of JSON ({error})") from error
        if not isinstance(row, dict):
            raise EvaluationError(f"{path}:{number} must be a JSON object, got {line[:80]!r}")
        id, text = row.get("_id"), row.get("text")
        if isinstance(id, bool) or not isinstance(id, str | int) or not str(id).strip():
            raise EvaluationError(
                f"{path}:{number} must have a string that is not blank under '_id', got {id!r}"
            )
        if not isinstance(text, str):
            raise EvaluationError(f"{path}:{number} must have a string under 'text', got {text!r}")
        try:
            f"{id} {text} {row.get('title')}".encode()
        except UnicodeEncodeError as error:
            reason = f"got {error.object[error.start]!r}"
            raise EvaluationError(
                f"{path}:{number} must hold text without lone surrogates, {reason}"
            ) from None
        yield {**row, "_id": str(id)}
