"""Document 004, the retriever over a vector store: its examples and its steps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from sleuth.engine import Engine
from sleuth.errors import EmbeddingError, FilterError
from sleuth.llm import LLMGenerator, OllamaEmbedder
from sleuth.testing.ollama import OllamaServer
from sleuth.types import Document
from sleuth.vector_store import Retriever, SleuthVectorStore

TEXTS = [
    "Python is a high-level programming language.",
    "Python was created by Guido van Rossum.",
    "Python emphasizes code readability.",
    "Machine learning fits functions to data.",
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer(reply=lambda prompt: "Python was created in 1991.") as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url)
        yield running


@pytest.fixture
def embedder(server: OllamaServer) -> OllamaEmbedder:
    return OllamaEmbedder(model="nomic-embed-text")


@pytest.fixture
def vs(embedder: OllamaEmbedder) -> Any:
    pytest.importorskip("langchain_chroma", reason="needs the extra `chroma`")
    from sleuth.vector_store import ChromaStore

    store = ChromaStore(None, "spec-004", embedder=embedder)
    store.add([Document(text, {"source": f"/path/to/{i}.md"}, id=str(i)) for i, text in enumerate(TEXTS)])
    yield store
    store.store.delete_collection()


def test_retrieve(vs: Any, embedder: OllamaEmbedder) -> None:
    """The document's example returns the three closest documents as `Document` objects."""
    retriever = Retriever(vector_store=vs, embedder=embedder)
    results = retriever.retrieve("What is Python?", k=3)
    assert [type(result) for result in results] == [Document] * 3
    assert results[0].page_content == TEXTS[0]


def test_retrieve_with_scores(vs: Any, embedder: OllamaEmbedder, capsys: pytest.CaptureFixture[str]) -> None:
    """The document's example prints distances, the lowest first."""
    retriever = Retriever(vector_store=vs, embedder=embedder)
    results = retriever.retrieve_with_scores("What is Python?", k=3)
    for doc, score in results:
        print(f"Score: {score:.4f} | {doc.page_content[:50]}...")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("| Python is a high-level programming language....")
    assert lines == sorted(lines)


def test_retrieve_by_source(vs: Any, embedder: OllamaEmbedder) -> None:
    """The document's example returns only documents of the source."""
    retriever = Retriever(vector_store=vs, embedder=embedder)
    results = retriever.retrieve_by_source(query="machine learning", source="/path/to/3.md", k=5)
    assert [result.page_content for result in results] == [TEXTS[3]]


def test_by_source_of_our_loaders(tmp_path: Path, embedder: OllamaEmbedder) -> None:
    """A source that Sleuth's loaders wrote is matched by its path."""
    (tmp_path / "ml_guide.txt").write_text("Machine learning fits functions to data.")
    (tmp_path / "other.txt").write_text("Machine learning is also this.")
    with Engine.open(tmp_path / "index", create=True, embedder=embedder) as engine:
        engine.index([tmp_path / "ml_guide.txt", tmp_path / "other.txt"])
        retriever = Retriever(SleuthVectorStore(engine, embedder), embedder)
        for source in (tmp_path / "ml_guide.txt", str(tmp_path / "ml_guide.txt")):
            (document,) = retriever.retrieve_by_source("machine learning", source=source)
            assert document.page_content == "Machine learning fits functions to data."
            assert document.metadata["source"] == "ml_guide.txt"


def test_steps() -> None:
    """`vs.store` is searched by vector, and by text for scores, as described."""
    document = MagicMock(page_content="text", metadata={"source": "a"})
    vs, embedder = MagicMock(), MagicMock()
    embedder.embed_query.return_value = [0.1, 0.2]
    vs.store.similarity_search_by_vector.return_value = [document]
    vs.store.similarity_search_with_score.return_value = [(document, 0.25)]
    retriever = Retriever(vs, embedder)
    assert retriever.vs is vs
    assert retriever.embedder is embedder
    assert retriever.retrieve("q", k=3) == [Document("text", {"source": "a"})]
    vs.store.similarity_search_by_vector.assert_called_with([0.1, 0.2], k=3, filter=None)
    assert retriever.retrieve_with_scores("q") == [(Document("text", {"source": "a"}), 0.25)]
    vs.store.similarity_search_with_score.assert_called_with("q", k=5)
    with patch.object(retriever, "retrieve", wraps=retriever.retrieve) as retrieve:
        assert retriever.retrieve_by_source("q", "s") == [Document("text", {"source": "a"})]
    retrieve.assert_called_once_with("q", k=5, filter={"source": "s"})
    vs.store.similarity_search_by_vector.assert_called_with([0.1, 0.2], k=5, filter={"source": "s"})


def test_a_filter_that_is_none_is_refused() -> None:
    """A filter with a key that is not a text raises an error."""
    with pytest.raises(FilterError, match="got 1"):
        Retriever(MagicMock(), MagicMock()).retrieve("q", filter={1: "x"})  # type: ignore[dict-item]


@pytest.mark.parametrize("vector", [None, "text", [[0.1, 0.2]], [0.1, float("nan")], [float("inf")]])
def test_what_is_no_vector_is_refused(vector: Any) -> None:
    """An invalid vector of a foreign embedder raises an error before the store is searched."""
    vs, embedder = MagicMock(), MagicMock()
    embedder.embed_query.return_value = vector
    with pytest.raises(EmbeddingError, match="embedder must give"):
        Retriever(vs, embedder).retrieve("q")
    vs.store.similarity_search_by_vector.assert_not_called()


def test_all_together(vs: Any, embedder: OllamaEmbedder, server: OllamaServer) -> None:
    """The generator answers from the retrieved documents."""
    docs = Retriever(vs, embedder).retrieve("When was Python created?", k=2)
    answer = LLMGenerator(model="llama3.1").generate_answer("When was Python created?", docs)
    assert answer == "Python was created in 1991."
    assert "Source: {'source': '/path/to/1.md'}" in server.payloads("/api/generate")[0]["prompt"]
