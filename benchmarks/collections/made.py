"""A collection that was made: documents, queries, and which documents answer which query."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

DOCUMENTS = 6_000
QUERIES = 200
LONGEST = 20_000
"""Characters of a document."""


@dataclass
class Made:
    """Documents and queries with their answers, in the making.

    Attributes:
        texts: text by id of a document.
        answers: ids of documents by query.
    """

    texts: dict[str, str] = field(default_factory=dict)
    answers: dict[str, set[str]] = field(default_factory=dict)

    def add(self, id: str, text: str, queries: Iterable[str] = ()) -> None:
        """Add a document and the queries that it answers; short texts are left out."""
        text = re.sub(r"[ \t]+", " ", text).strip()[:LONGEST]
        if len(text) < 60:
            return
        self.texts[id] = text
        for query in queries:
            self.ask(query, id)

    def ask(self, query: str, id: str) -> None:
        """Add a query that a document answers."""
        query = " ".join(query.split())
        if len(query) > 3:
            self.answers.setdefault(query, set()).add(id)

    def write(self, folder: Path) -> None:
        """Write a sample in BEIR layout; queries with more than five answers say too little and are left out."""
        rng = random.Random(0)
        queries = sorted(q for q, ids in self.answers.items() if ids <= self.texts.keys() and len(ids) <= 5)
        queries = sorted(rng.sample(queries, min(QUERIES, len(queries))))
        answer_ids = {id for query in queries for id in self.answers[query]}
        rest = sorted(self.texts.keys() - answer_ids)
        ids_of_sample = answer_ids | set(
            rng.sample(rest, min(len(rest), max(0, DOCUMENTS - len(answer_ids))))
        )
        (folder / "qrels").mkdir(parents=True, exist_ok=True)
        rows = [json.dumps({"_id": id, "title": "", "text": self.texts[id]}) for id in sorted(ids_of_sample)]
        (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
        rows = [json.dumps({"_id": f"q{i}", "text": query}) for i, query in enumerate(queries)]
        (folder / "queries.jsonl").write_text("\n".join(rows) + "\n")
        rows = [f"q{i}\t{id}\t1" for i, query in enumerate(queries) for id in sorted(self.answers[query])]
        (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")


def plain(markup: str) -> str:
    """Return the text of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style|head)\b.*?</\1>", " ", markup)))
