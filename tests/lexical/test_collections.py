"""Rankings of real collections are exact for any layout, and as good as published BM25."""

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sleuth.lexical import LexicalLeg
from sleuth.lexical.leg import FieldSpec
from sleuth.lexical.search import LexicalSearcher
from sleuth.store import LegRequest
from tests.segments import rows_of, segment_of

DATA = Path(__file__).parents[2] / ".data"


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf8").splitlines()]


@pytest.fixture(scope="module")
def scifact() -> Path:
    folder = DATA / "scifact"
    if not folder.exists():
        pytest.skip("the collection scifact is not laid out in .data")
    return folder


def test_quality_on_scifact(scifact: Path) -> None:
    """nDCG@10 is at least that of Lucene's BM25, 0.679."""
    documents = read(scifact / "corpus.jsonl")
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (scifact / "qrels" / "test.tsv").read_text("utf8").splitlines()[1:]:
        query_id, document, grade = line.split("\t")
        judged[query_id][document] = int(grade)
    leg = LexicalLeg({"text": FieldSpec("english", {"title": 2, "text": 1})})
    rows = rows_of([{name: document.get(name) or "" for name in ("title", "text")} for document in documents])
    searcher = LexicalSearcher(leg, [segment_of(leg, rows)])
    gains = []
    for query in read(scifact / "queries.jsonl"):
        grades = judged.get(query["_id"])
        if grades:
            ranking = [documents[key]["_id"] for key in searcher.pool(query["text"], LegRequest(10)).keys]
            ideal = sum(
                g / math.log2(i + 2) for i, g in enumerate(sorted(grades.values(), reverse=True)[:10])
            )
            gains.append(sum(grades.get(d, 0) / math.log2(i + 2) for i, d in enumerate(ranking)) / ideal)
    assert np.mean(gains) > 0.685
