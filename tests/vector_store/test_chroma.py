"""A real Chroma: what is specific to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sleuth.errors import ArgumentError, EmbedderMismatchError, FilterError, RetrievalError
from sleuth.types import Document
from sleuth.vector_store import ChromaStore, Retriever, read_chroma
from tests.vector_store.conftest import DOCUMENTS, Words, chroma_store

pytest.importorskip("langchain_chroma", reason="needs the extra `chroma`")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chroma")
    chroma_store(path, Words())
    return path


def test_langchain_chroma_itself(folder: Path) -> None:
    """A LangChain Chroma may be given as it is."""
    store = ChromaStore(folder, "docs", embedder=Words()).store
    assert Retriever(store, Words()).retrieve("Python language", k=1)[0].id == "python"


def test_a_store_without_an_embedder_is_given_ours(folder: Path) -> None:
    """A Chroma that has no embedding function searches with the retriever's, and downloads nothing."""
    from langchain_chroma import Chroma

    from sleuth.vector_store.chroma import open_client

    bare = Chroma(client=open_client(folder), collection_name="docs")
    found = Retriever(bare, Words()).retrieve_with_scores("Python is a programming language.", k=1)
    assert [(document.id, round(score, 4)) for document, score in found] == [("python", 0.0)]


def test_telemetry_is_off(folder: Path) -> None:
    """The client is told to report nothing."""
    from sleuth.vector_store.chroma import open_client

    assert open_client(folder).get_settings().anonymized_telemetry is False


def test_another_embedder_is_refused_on_opening(folder: Path) -> None:
    """A collection made with one embedder refuses another, naming both."""
    with pytest.raises(EmbedderMismatchError, match=r"'words-64'.*got 'other-64'"):
        ChromaStore(folder, "docs", embedder=Words(64, "other"))


def test_what_chroma_cannot_say_is_refused(folder: Path) -> None:
    """A filter that Chroma has no words for is refused."""
    store = ChromaStore(folder, "docs", embedder=Words())
    with pytest.raises(FilterError):
        Retriever(store, Words()).retrieve("Python", filter="source:/docs/*")


def test_a_failing_store_is_a_retrieval_error() -> None:
    """What the store raises is chained to a RetrievalError that says query and k."""

    class Broken:
        def similarity_search_by_vector(self, *args: Any, **kwargs: Any) -> Any:
            raise ConnectionError("gone")

    with pytest.raises(RetrievalError, match="ConnectionError: gone") as caught:
        Retriever(Broken(), Words()).retrieve("q", k=3)
    assert caught.value.context == {"query": "q", "k": 3, "store": "Broken"}


def test_adding_again_replaces(tmp_path: Path) -> None:
    """A document with the same id replaces the old one; one without an id is named by text and source."""
    store = ChromaStore(tmp_path, embedder=Words())
    assert store.add([Document("one", {"tags": ["a", "b"], "none": None, "n": {"x": 1}}, id="1")]) == ["1"]
    store.add([Document("two", {"source": "s"}, id="1")])
    first = store.add([Document("three", {"source": "s"})])
    assert store.add([Document("three", {"source": "s"})]) == first
    assert store.store._collection.count() == 2


def test_reading_with_vectors(folder: Path) -> None:
    """Every document is read with its metadata and the vector that is in the store."""
    rows = {row.document.id: row for row in read_chroma(folder)}
    assert set(rows) == {document.id for document in DOCUMENTS}
    for document in DOCUMENTS:
        row = rows[document.id]
        assert row.document == document
        assert row.vector == pytest.approx(Words().embed_query(document.page_content), abs=1e-6)


def test_reading_names_what_there_is(folder: Path, tmp_path: Path) -> None:
    """A path without a Chroma and an unknown collection are errors that say what there is."""
    with pytest.raises(ArgumentError, match=r"collection must be among those of .* \(docs\), got 'other'"):
        list(read_chroma(folder, "other"))
    with pytest.raises(ArgumentError, match=r"path must be the folder of a Chroma"):
        list(read_chroma(tmp_path / "nowhere"))
    chroma_store(tmp_path, Words(), "one")
    chroma_store(tmp_path, Words(), "two")
    with pytest.raises(ArgumentError, match=r"\(one, two\), got None"):
        list(read_chroma(tmp_path))
