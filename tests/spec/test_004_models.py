"""Document 004, documents, generators and embedders: its examples, requests and prompts."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock, patch
from urllib.error import HTTPError

import pytest

from sleuth.errors import EmbeddingError, GenerationError
from sleuth.llm import LLMGenerator, Ollama, OllamaEmbedder
from sleuth.testing.ollama import OllamaServer
from sleuth.types import Document

PROMPTS = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text("utf8"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    with OllamaServer(reply=lambda prompt: f"<{prompt}>") as running:
        monkeypatch.setenv("OLLAMA_HOST", running.url)
        yield running


def test_document() -> None:
    """A document has its text and metadata; its repr shows 50 characters."""
    doc = Document(
        page_content="Python is a programming language.", metadata={"source": "intro.pdf", "page": 1}
    )
    assert doc.page_content == "Python is a programming language."
    assert doc.metadata == {"source": "intro.pdf", "page": 1}
    metadata = "{'source': 'intro.pdf', 'page': 1}"
    expected = f"Document(page_content='Python is a programming language....', metadata={metadata})"
    assert repr(doc) == expected
    assert Document("x").metadata == Document("x", None).metadata == {}
    assert Document("x").metadata is not Document("y").metadata
    assert repr(Document("y" * 80)) == f"Document(page_content='{'y' * 50}...', metadata={{}})"


def test_ollama_complete(server: OllamaServer) -> None:
    """`complete` sends model, prompt and stream False to /api/generate and returns the response."""
    ollama = Ollama(model="llama3.1", base_url=server.url)
    response = ollama.complete("What is Python?")
    assert response == "<What is Python?>"
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/api/generate")
    assert request.headers["content-type"] == "application/json"
    assert json.loads(request.body) == {"model": "llama3.1", "prompt": "What is Python?", "stream": False}


def test_prompts(server: OllamaServer) -> None:
    """The prompts of an answer, a summary, which has no metadata, and a judgement equal the document's exactly."""
    wiki = Document(page_content="Python was created in 1991.", metadata={"source": "wiki"})
    docs = Document(page_content="Python is interpreted.", metadata={"source": "docs"})
    answer = LLMGenerator(model="llama3.1").generate_answer("When was Python created?", [wiki, docs])
    assert answer == f"<{PROMPTS['answer']}>"
    assert [request.path for request in server.requests] == ["/api/generate"]
    texts = ("Python is versatile.", "Python has extensive libraries.")
    summary = LLMGenerator().summarize_docs([Document(text, {"source": "docs"}) for text in texts])
    assert summary == f"<{PROMPTS['summary']}>"
    judgement = LLMGenerator().evaluate_relevance(
        question="What is Python?", answer="Python is a high-level programming language."
    )
    assert judgement == f"<{PROMPTS['judgement']}>"


def test_embedder(server: OllamaServer) -> None:
    """A query is one request to /api/embeddings and returns its vector; documents get one vector each."""
    embedder = OllamaEmbedder(model="nomic-embed-text")
    query_vector = embedder.embed_query("What is machine learning?")
    (request,) = server.requests
    assert request.path == "/api/embeddings"
    assert json.loads(request.body) == {"model": "nomic-embed-text", "prompt": "What is machine learning?"}
    assert query_vector == embedder._get_embedding("What is machine learning?")
    docs = ["Document 1 text", "Document 2 text", "Document 3 text"]
    doc_vectors = embedder.embed_documents(docs)
    assert doc_vectors == [embedder.embed_query(text) for text in docs]


def test_the_model_of_a_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator's `llm` is an Ollama of the default model at the default address."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    generator = LLMGenerator()
    assert isinstance(generator.llm, Ollama)
    assert (generator.llm.model, generator.llm.base_url) == ("llama3.1", "http://localhost:11434")


def test_any_generator() -> None:
    """LLMGenerator accepts any generator in place of Ollama's."""

    class Loud:
        def complete(self, prompt: str) -> str:
            return prompt.upper()

        def stream(self, prompt: str) -> Iterator[str]:
            yield self.complete(prompt)

    assert LLMGenerator(llm=Loud()).summarize_docs([]).endswith("SUMMARY:")


@pytest.mark.parametrize("status", [200, 500])
def test_requests_go_through_urlopen(status: int) -> None:
    """The standard library's urlopen sends every request; it may return its response only as a context manager."""
    embedder = OllamaEmbedder("m", timeout=0.5)  # too short for a retry
    for ask, expected in ((Ollama("m").complete, "hello"), (embedder.embed_query, [0.5, 1])):
        response = MagicMock(status=status)
        response.read.return_value = b'{"response": "hello", "embedding": [0.5, 1]}'
        with patch("urllib.request.urlopen") as urlopen:
            urlopen.return_value.__enter__.return_value = response
            if status == 200:
                assert ask("x") == expected
            else:
                with pytest.raises((GenerationError, EmbeddingError), match="500"):
                    ask("x")
        urlopen.return_value.__exit__.assert_called()
        assert urlopen.call_args.args[0].get_method() == "POST"


def test_an_error_without_headers() -> None:
    """An HTTPError without headers and body is reported like any other."""
    error = HTTPError("http://localhost:11434", 404, "Not Found", None, None)  # type: ignore[arg-type]
    with patch("urllib.request.urlopen", side_effect=error), pytest.raises(GenerationError, match="404"):
        Ollama("m").complete("x")


def test_documents_are_embedded_by_get_embedding() -> None:
    """embed_documents calls _get_embedding for each text, also of a subclass without a server."""

    class Lengths(OllamaEmbedder):
        asked: list[str] = []  # noqa: RUF012 - of one test

        def _get_embedding(self, text: str) -> list[float]:
            self.asked.append(text)
            return [float(len(text)), 1.0]

    embedder = Lengths(base_url="http://127.0.0.1:9")
    assert embedder.embed_documents(["a", "bb", "ccc"]) == [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    assert embedder.asked == ["a", "bb", "ccc"]
    assert Lengths(normalize=True).embed_documents(["a"] * 2) == [pytest.approx([0.5**0.5] * 2)] * 2


def test_errors(server: OllamaServer) -> None:
    """A status other than 200 and an unreachable server raise an error with a description."""
    server.fail("crash")
    with pytest.raises(GenerationError, match="500"):
        Ollama("llama3.1").complete("x")
    server.fail("rate", always=True)
    for why in ("429", "too many requests"):  # the second call has no turn within its time
        with pytest.raises(GenerationError, match=why):
            Ollama("llama3.1", server.url, timeout=0.2).complete("x")
    nowhere = "http://127.0.0.1:9"
    with pytest.raises(GenerationError, match="ollama serve"):
        Ollama("llama3.1", nowhere).complete("x")
    with pytest.raises(EmbeddingError, match="ollama serve"):
        OllamaEmbedder(base_url=nowhere).embed_query("x")
