"""Stores that the real libraries wrote are imported: FAISS and Chroma of LangChain, LanceDB, Qdrant, Parquet."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromadb
import faiss
import lancedb
import pyarrow as pa
import pytest
from chromadb.config import Settings
from langchain_chroma import Chroma
from langchain_community.docstore.in_memory import InMemoryDocstore
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores import LanceDB as LangChainLanceDB
from langchain_core.documents import Document as LangChainDocument
from langchain_core.embeddings import Embeddings
from pyarrow import parquet
from qdrant_client import QdrantClient, models

from sleuth import Engine
from sleuth.errors import ArgumentError, StoreError
from sleuth.plugins.frameworks.whole import NamedEmbedder
from sleuth.plugins.importers import (
    import_vectors,
    read_chroma,
    read_faiss,
    read_lancedb,
    read_qdrant,
    read_vectors,
)
from sleuth.plugins.importers.stored import StoredVectors

COUNT = 1_203
"""Documents of each store: some batches, and a part of one."""


class Letters(Embeddings):
    """Vectors of letters, which are not of length 1."""

    model = "letters"
    embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return [[1.0 + text.count(letter) for letter in "aeiounrstl0123456789"] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return Letters().embed_documents([text])[0]


DOCUMENTS = [
    LangChainDocument(
        id=f"{n:04}", page_content=f"Tide number {n} of the moon.", metadata={"year": n, "odd": n % 2 == 1}
    )
    for n in range(COUNT)
]


TEXTS = [each.page_content for each in DOCUMENTS]
METADATA = [each.metadata for each in DOCUMENTS]
IDS = [str(each.id) for each in DOCUMENTS]


def _faiss(folder: Path, store: FAISS | None = None) -> StoredVectors:
    store = store or FAISS.from_documents(DOCUMENTS, Letters(), ids=IDS)
    store.save_local(str(folder / "faiss"))
    return read_faiss(folder / "faiss")


def _faiss_ivf(folder: Path) -> StoredVectors:
    """An index that does not keep vectors in order, as large collections have."""
    flat = faiss.IndexFlatL2(20)
    index = faiss.IndexIVFFlat(flat, 20, 4)
    import numpy as np

    index.train(np.array(Letters().embed_documents(TEXTS), np.float32))
    store = FAISS(Letters(), index, InMemoryDocstore(), {})
    store.add_documents(DOCUMENTS, ids=IDS)
    return _faiss(folder, store)


def _chroma(folder: Path) -> StoredVectors:
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
    Chroma(client=client, collection_name="docs", embedding_function=Letters()).add_documents(DOCUMENTS)
    return read_chroma(folder / "chroma")


def _lancedb(folder: Path) -> StoredVectors:
    store = LangChainLanceDB(
        connection=lancedb.connect(str(folder / "lance")), embedding=Letters(), table_name="docs"
    )
    store.add_texts(TEXTS, METADATA, ids=IDS)
    return read_lancedb(folder / "lance")


def _qdrant_folder(folder: Path) -> Path:
    client = QdrantClient(path=str(folder / "qdrant"))
    client.create_collection(
        "docs", vectors_config=models.VectorParams(size=20, distance=models.Distance.DOT)
    )
    payloads = [{"page_content": each.page_content, "metadata": each.metadata} for each in DOCUMENTS]
    vectors = zip(Letters().embed_documents(TEXTS), payloads, strict=True)
    points = [models.PointStruct(id=n, vector=vector, payload=own) for n, (vector, own) in enumerate(vectors)]
    client.upsert("docs", points)
    client.close()
    return folder / "qdrant"


def _parquet(folder: Path) -> StoredVectors:
    columns: dict[str, Any] = {"id": IDS, "text": TEXTS, "vector": Letters().embed_documents(TEXTS)}
    columns |= {key: [metadata[key] for metadata in METADATA] for key in ("year", "odd")}
    parquet.write_table(pa.table(columns), folder / "rows.parquet")
    return read_vectors(folder / "rows.parquet")


STORES: dict[str, Callable[[Path], StoredVectors]] = {
    "faiss": _faiss, "faiss ivf": _faiss_ivf, "chroma": _chroma, "lancedb": _lancedb,
    "qdrant": lambda folder: read_qdrant(_qdrant_folder(folder)), "parquet": _parquet,
}  # fmt: skip


@pytest.mark.parametrize("kind", STORES)
def test_a_store_comes_along_whole(kind: str, tmp_path: Path) -> None:
    """Counts, ids, texts, metadata and vectors agree; nothing but a sample is embedded."""
    letters = Letters()
    embedder = NamedEmbedder(letters)
    steps: list[int] = []
    with Engine.open(tmp_path / "index", create=True, embedder=embedder) as engine:
        report = import_vectors(engine, STORES[kind](tmp_path), progress=lambda now: steps.append(now.read))
        assert (report.added, report.read, report.blank) == (COUNT, COUNT, 0)
        assert report.stored == COUNT
        assert (letters.embedded, steps) == (3, [500, 1000, COUNT])
        assert engine.count().documents == COUNT
        assert engine.count("year<10 odd:true").documents == 5
        document = DOCUMENTS[777]
        id = "777" if kind == "qdrant" else str(document.id)
        (item,) = engine.get(id)
        assert item.text == document.page_content
        assert {key: item.metadata[key] for key in document.metadata} == document.metadata
        (nearest,) = engine.nearest(Letters().embed_query(document.page_content), 1)
        assert nearest.score == pytest.approx(1, abs=2e-3)
        (tmp_path / "again").mkdir()
        assert import_vectors(engine, STORES[kind](tmp_path / "again")).unchanged == COUNT


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("faiss", ["faiss", "faiss"]),
        ("chroma", ["chroma", "chroma"]),
        ("lancedb", ["lancedb", "lance", "--table", "docs"]),
        ("qdrant", ["qdrant", "qdrant", "--collection", "docs"]),
        ("parquet", ["vectors", "rows.parquet"]),
    ],
)
def test_the_commands(kind: str, arguments: list[str], tmp_path: Path) -> None:
    """Each store has its command, which says how many documents came along; a second run changes nothing."""
    STORES[kind](tmp_path)
    options = ("--re-embed", "--json", "--index", "ix")
    command = [sys.executable, "-m", "sleuth", "index", "import", *arguments, *options]
    for key in ("added", "unchanged"):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report[key], report["read"], report["stored"]) == (COUNT, COUNT, COUNT)


def test_a_server_that_does_not_answer() -> None:
    """It is named."""
    with pytest.raises(StoreError, match=r"Qdrant at http://127\.0\.0\.1:9 does not answer"):
        read_qdrant("http://127.0.0.1:9")


def test_several_vectors_must_be_named(tmp_path: Path) -> None:
    """Points with several vectors give the one that is named; without a name the names are listed."""
    client = QdrantClient(path=str(tmp_path / "q"))
    params = models.VectorParams(size=2, distance=models.Distance.DOT)
    client.create_collection("docs", vectors_config={"title": params, "body": params})
    client.upsert(
        "docs", [models.PointStruct(id=1, vector={"title": [1, 0], "body": [0, 1]}, payload={"text": "x"})]
    )
    client.close()
    with pytest.raises(ArgumentError, match="body, title"):
        list(read_qdrant(tmp_path / "q", text_field="text"))
    with pytest.raises(ArgumentError, match=r"collection must be among those of .* \(docs\), got 'other'"):
        read_qdrant(tmp_path / "q", "other")
    (row,) = read_qdrant(tmp_path / "q", text_field="text", vector="body")
    assert list(row.vector or ()) == [0, 1]


@pytest.mark.parametrize("name", ["index.faiss", "index.pkl"])
def test_a_damaged_faiss_is_named(name: str, tmp_path: Path) -> None:
    """A file that is cut short is refused with its name."""
    _faiss(tmp_path)
    path = tmp_path / "faiss" / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ArgumentError, match=name):
        list(read_faiss(tmp_path / "faiss"))


def test_wrong_tables_and_columns_are_named(tmp_path: Path) -> None:
    """The tables and columns that there are stand in the message."""
    _lancedb(tmp_path)
    with pytest.raises(ArgumentError, match=r"\(docs\), got 'other'"):
        read_lancedb(tmp_path / "lance", "other")
    with pytest.raises(ArgumentError, match=r"'body' must be a column of docs, got .*text"):
        read_lancedb(tmp_path / "lance", text_field="body")
