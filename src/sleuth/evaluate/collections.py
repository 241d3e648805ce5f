"""What is asked of a test collection, and which documents answer? The BEIR layout.

A folder with `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels/<split>.tsv`
(`query-id`, `corpus-id`, `score`; a header line).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sleuth.errors import EvaluationError
from sleuth.types import Document

Qrels = dict[str, dict[str, int]]
"""Judgements: query id to document id to relevance, 0 for not relevant."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Queries with judgements over a corpus.

    Attributes:
        name: of the folder, with the split where it is not "test".
        queries: text by id; only those that have judgements.
    """

    name: str
    folder: Path
    queries: dict[str, str]
    qrels: Qrels

    def documents(self) -> Iterator[Document]:
        """The corpus, streamed; ids are those of the judgements."""
        for number, row in _rows(self.folder / "corpus.jsonl"):
            try:
                title = str(row.get("title") or "")
                yield Document(str(row["text"]), {"title": title} if title else {}, id=str(row["_id"]))
            except KeyError as error:
                raise EvaluationError(
                    f"{self.folder / 'corpus.jsonl'}:{number} lacks the key {error}"
                ) from error


def open_collection(folder: str | Path, split: str | None = None) -> Collection:
    """A collection in BEIR layout.

    Args:
        split: name of a file in `qrels/`; "test" where None, else "dev", else the only one there is.

    Raises:
        EvaluationError: a file or a split that is missing; lists the splits there are.
    """
    home = Path(folder)
    for name in ("corpus.jsonl", "queries.jsonl", "qrels"):
        if not (home / name).exists():
            raise EvaluationError(
                f"{home} must hold corpus.jsonl, queries.jsonl and qrels/<split>.tsv, and lacks {name}"
            )
    splits = sorted(path.stem for path in (home / "qrels").glob("*.tsv"))
    chosen = split or next(
        (name for name in ("test", "dev") if name in splits), splits[0] if splits else "test"
    )
    if chosen not in splits:
        raise EvaluationError(
            f"split must be among {', '.join(splits) or '(none)'} in {home}, got {chosen!r}"
        )
    qrels = read_qrels(home / "qrels" / f"{chosen}.tsv")
    queries = {
        str(row["_id"]): str(row["text"])
        for _, row in _rows(home / "queries.jsonl")
        if str(row["_id"]) in qrels
    }
    if missing := sorted(qrels.keys() - queries.keys()):
        raise EvaluationError(
            f"{home / 'queries.jsonl'} lacks {len(missing)} judged queries, such as {missing[0]!r}"
        )
    name = home.resolve().name
    return Collection(name if chosen == "test" else f"{name}/{chosen}", home, queries, qrels)


def read_qrels(path: Path) -> Qrels:
    """Judgements, from tab-separated lines of query, document and relevance; a header is recognised.

    Raises:
        EvaluationError: a line of another form; says which.
    """
    qrels: Qrels = {}
    with path.open(encoding="utf8", newline="") as file:
        for number, row in enumerate(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if not row or (number == 1 and len(row) == 3 and not row[2].lstrip("-").isdigit()):
                continue
            if len(row) != 3 or not row[2].lstrip("-").isdigit():
                raise EvaluationError(f"{path}:{number} must hold query, document and relevance, got {row!r}")
            qrels.setdefault(row[0], {})[row[1]] = int(row[2])
    return qrels


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise EvaluationError(f"{path}:{number} must be a line of JSON ({error})") from error
