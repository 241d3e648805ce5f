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


def test_words_and_both(engine: Engine, tmp_path: Path) -> None:
    """By words and by both the same is first; a saved index needs no loading here; groups are facets."""

    def embed(texts: list[Any]) -> Any:
        return np.array([meaning(str(text)) for text in texts], np.float32)

    both: Any = {"method": "external", "transform": embed, "hybrid": True, "backend": "numpy"}
    for options, legs in (({"keyword": True}, ["lexical"]), (both, None)):
        peer = Embeddings(content=True, **options)
        peer.index(ROWS)
        for text in ("wonderful film", "stock market", "pancakes"):
            assert engine.retrieve(text, 1, legs=legs)[0].document_id == peer.search(text, 1)[0]["id"]
    tokens = dict(peer.explain("wonderful film", limit=1)[0]["tokens"])
    (hit,) = engine.retrieve("wonderful film", 1, explain=True)
    assert max(tokens, key=tokens.__getitem__) == "film" and "film" in str(hit.explanation)
    (number,) = peer.search("select count(*) from txtai where n > 2")
    assert engine.count("n>2").documents == number["count(*)"]
    groups = peer.search("select n, count(*) rows from txtai group by n order by n", 9)
    facets = engine.facets(["n"])["n"]
    assert [(each.value, each.documents) for each in facets] == [(row["n"], row["rows"]) for row in groups]
    words = Embeddings(keyword=True, content=True)
    words.index(ROWS)
    words.save(str(tmp_path / "saved"))
    loaded = Embeddings()
    loaded.load(str(tmp_path / "saved"))
    with Engine.open(tmp_path / ".sleuth") as opened:
        assert opened.retrieve("pancakes", 1)[0].document_id == loaded.search("pancakes", 1)[0]["id"]
    with pytest.raises(ValueError, match="legs must"):
        engine.retrieve("film", legs=["keyword"])
