"""Quickstart of txtai beside ours, over the same vectors: `make conformance-mteb`, which has its PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from txtai import Embeddings

from sleuth import Document, Engine
from tests.documents import NEWS, QUERY, guide_line, meaning
from tests.documents import news as engine

__all__ = ["engine"]

ROWS: list[Any] = [(n, {"text": text, "n": n}, None) for n, text in enumerate(NEWS)]


@pytest.fixture
def embeddings() -> Embeddings:
    """An index with the vectors of the default embedder."""

    def embed(texts: list[Any]) -> Any:
        return np.array([meaning(str(text)) for text in texts], np.float32)

    embeddings = Embeddings(method="external", transform=embed, content=True, backend="numpy")
    embeddings.index(ROWS)
    return embeddings


def test_searches_find_the_same(engine: Engine, embeddings: Embeddings) -> None:
    """By meaning, many queries at once, and with a condition of SQL, which is a filter; a wrong argument is named."""
    batch = embeddings.batchsearch([QUERY, "crime"], 1)
    assert [engine.retrieve(text, 1)[0].document_id for text in (QUERY, "crime")] == [
        row[0]["id"] for row in batch
    ]
    for query in (QUERY, "crime", "shares fell"):
        assert engine.retrieve(query, 1)[0].document_id == embeddings.search(query, 1)[0]["id"]
        (row, *_) = embeddings.search(f"select id from txtai where similar('{query}') and n >= 2", 9)
        assert guide_line("txtai: SQL", engine=engine, text=query)[0].document_id == row["id"]
    with pytest.raises(TypeError, match="no argument 'limit'; did you mean 'k'"):
        engine.retrieve("war", limit=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"id .*must be a string"):
        engine.add([Document("x", id=0)])  # type: ignore[arg-type]


def test_changes(
    engine: Engine, embeddings: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`upsert` and `delete` are `add` and `delete`, `save` is not needed, and `index` is a new folder."""
    embeddings.upsert([(0, {"text": "See it: baby panda born", "n": 0}, None)])
    engine.add([Document("See it: baby panda born", {"n": 0}, id="0")])
    assert engine.retrieve("panda", 1)[0].document_id == embeddings.search("panda", 1)[0]["id"] == "0"
    embeddings.delete([0])
    engine.delete(["0"])
    assert engine.count().documents == embeddings.count() == 5
    monkeypatch.chdir(tmp_path)
    embeddings.index(ROWS[:1])
    with guide_line("txtai: `index`", Engine=Engine) as new:
        new.add([Document(NEWS[0], id="0")])
        assert new.count().documents == embeddings.count() == 1
