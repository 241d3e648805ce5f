"""The Ollama clients against a local server that speaks its protocol, with and without faults."""

import gc
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

from sleuth import protocols
from sleuth.engine.answers import as_generator
from sleuth.errors import ArgumentError, EmbeddingError, GenerationError, RemoteError
from sleuth.llm import LLMGenerator, Ollama, OllamaEmbedder, ollama_status, open_embedder, open_generator
from sleuth.llm import http as llm_http
from sleuth.llm.generator import ANSWER
from sleuth.llm.ollama import WINDOW, host_url, resolve_url
from sleuth.remote.address import BASE_RULE
from sleuth.testing.contracts import EmbedderContract
from sleuth.testing.faults import FAULTS, FaultServer
from sleuth.testing.ollama import Fault, OllamaServer
from sleuth.text.budget import approximate_tokens
from sleuth.types import Document
from tests.waiting import Usage, wait_until

SAMPLES = tomllib.loads(Path(__file__).with_name("ollama.toml").read_text("utf8"))
REFUSED = "http://127.0.0.1:9"


def ask(server: OllamaServer, **options: float) -> str:
    return Ollama("llama3.1", server.url, **options).complete("say\nhello there, world")  # type: ignore[arg-type]


def stream(server: OllamaServer, **options: float) -> str:
    pieces = Ollama("llama3.1", server.url, **options).stream("say\nhello there, world")  # type: ignore[arg-type]
    return "".join(pieces)


both = pytest.mark.parametrize("call", [ask, stream])


def test_requests(server: OllamaServer) -> None:
    """Requests equal those of the protocol, the answer is the text of the model; options are sent if they are set."""
    assert ask(server) == stream(server) == "hello there, world"
    list(Ollama("llama3.1", server.url + "/", options={"num_ctx": 8192}).stream("x"))
    assert [request.path for request in server.requests] == ["/api/generate"] * 3
    assert server.requests[0].headers["content-type"] == "application/json"
    first, second, third = server.payloads("/api/generate")
    assert first == {"model": "llama3.1", "prompt": "say\nhello there, world", "stream": False}
    assert second == {"model": "llama3.1", "prompt": "say\nhello there, world", "stream": True}
    assert third["options"] == {"num_ctx": 8192}


@both
def test_missing_model_says_how_to_pull(server: OllamaServer, call: Callable[..., str]) -> None:
    """A missing model raises an error with the command that downloads it and the status."""
    server.models.clear()
    with pytest.raises(
        GenerationError, match=r"no model 'llama3.1'; get it with: ollama pull llama3.1"
    ) as caught:
        call(server)
    assert (caught.value.service, caught.value.status) == ("ollama", 404)
    with pytest.raises(EmbeddingError, match=r"ollama pull nomic-embed-text"):
        OllamaEmbedder(base_url=server.url).embed_documents(["a", "b"])


@pytest.mark.parametrize(("fault", "says"), SAMPLES["failures"])
@both
def test_failures_have_their_messages(
    server: OllamaServer, call: Callable[..., str], fault: Fault, says: str
) -> None:
    """Each failure has its own message, with the server's words if it sent any."""
    server.fail(fault, always=True)
    with pytest.raises(GenerationError, match=says) as caught:
        call(server, timeout=0.5 if fault == "hang" else 60.0)
    assert server.url in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "says"), [("undone", "before it was done"), ("late-error", "while running")]
)
def test_streams_that_break_raise_after_their_pieces(server: OllamaServer, fault: Fault, says: str) -> None:
    """A truncated or failing stream yields its pieces and then raises an error."""
    server.fail(fault)
    pieces = []
    with pytest.raises(GenerationError, match=says):
        for piece in Ollama("llama3.1", server.url).stream("a b"):
            pieces.append(piece)  # noqa: PERF402 - what came before the error is wanted
    assert pieces == ["a ", "b"]


@both
def test_endless_answers_are_cut(
    server: OllamaServer, call: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An endless answer raises an error at the limit."""
    monkeypatch.setattr(llm_http, "LIMIT", 1_000_000)
    server.fail("endless")
    with pytest.raises(GenerationError, match="more than 1,000,000 bytes"):
        call(server)


def test_a_drip_does_not_outlast_the_timeout(server: OllamaServer) -> None:
    """A whole answer, or a line of a stream, that arrives a byte at a time ends at the timeout."""
    server.fail("drip", always=True)
    for call in (ask, stream):
        with pytest.raises(GenerationError, match="did not answer within"):
            call(server, timeout=0.4)


def test_a_generation_is_repeated_only_where_none_began(server: OllamaServer) -> None:
    """A busy server is asked again; what broke off or crashed it is not repeated, since it costs the model's time."""
    server.fail("busy", "rate")
    assert ask(server) == "hello there, world"
    assert len(server.payloads("/api/generate")) == 3
    for fault in ("crash", "die", "reset"):
        server.fail(fault)
        with pytest.raises(GenerationError):
            ask(server)
    assert len(server.payloads("/api/generate")) == 3 + 3


def test_a_failed_embedding_is_repeated(server: OllamaServer) -> None:
    """It gives the same result; a response without a vector, or a truncated one, is an EmbeddingError."""
    server.fail("reset", "crash")
    embedder = OllamaEmbedder(base_url=server.url)
    assert embedder.embed_query("x")
    assert len(server.payloads("/api/embeddings")) == 3
    for fault in ("hollow", "malformed", "error-body"):
        server.fail(fault)
        with pytest.raises(EmbeddingError):
            embedder.embed_query("x")


def test_batches_where_both_ways_agree() -> None:
    """A model whose vectors have length 1 is used in batches, after one comparison."""
    with OllamaServer(length=1.0) as server:
        embedder = OllamaEmbedder(base_url=server.url, batch_size=4)
        texts = [f"text number {i}" for i in range(10)]
        vectors = embedder.embed_documents(texts)
        assert [len(batch["input"]) for batch in server.payloads("/api/embed")] == [1, 4, 4, 2]
        assert len(server.payloads("/api/embeddings")) == 1
        embedder.embed_documents(texts)
        assert len(server.payloads("/api/embeddings")) == 1
        assert vectors[3] == pytest.approx(embedder.embed_query(texts[3]))


def test_normalize_makes_batches_possible(server: OllamaServer) -> None:
    """With normalize every vector has length 1, and documents are sent in batches."""
    embedder = OllamaEmbedder(base_url=server.url, normalize=True)
    vectors = embedder.embed_documents(["one text", "another text"])
    assert server.payloads("/api/embeddings") == []
    assert vectors[1] == pytest.approx(embedder.embed_query("another text"))
    assert math.isclose(math.hypot(*vectors[0]), 1.0)
    assert embedder.fingerprint != OllamaEmbedder(base_url=server.url).fingerprint


@pytest.mark.parametrize("normalize", [False, True])
def test_servers_without_batches(normalize: bool) -> None:
    """A server without /api/embed gets one text per request, and no further request for /api/embed."""
    with OllamaServer(batches=False) as server:
        embedder = OllamaEmbedder(base_url=server.url, normalize=normalize)
        texts = ["a b", "c d", "e f"]
        assert embedder.embed_documents(texts) == [embedder.embed_query(text) for text in texts]
        embedder.embed_documents(texts)
        assert len(server.payloads("/api/embed")) == 1


def test_busy_embedder_does_not_switch_endpoints(server: OllamaServer) -> None:
    """A busy server is not taken for an older one: the batch fails and the next one works."""
    server.fail("busy", "busy", "busy", "busy")
    embedder = OllamaEmbedder(base_url=server.url, normalize=True)
    with pytest.raises(EmbeddingError, match="is busy"):
        embedder.embed_documents(["a", "b"])
    assert len(embedder.embed_documents(["a", "b"])) == 2
    assert server.payloads("/api/embeddings") == []


def test_empty_texts(server: OllamaServer) -> None:
    """No texts make no request; an empty text, which has no vector in Ollama, raises an error."""
    embedder = OllamaEmbedder(base_url=server.url)
    assert embedder.embed_documents([]) == []
    assert server.requests == []
    with pytest.raises(EmbeddingError, match="without a vector"):
        embedder.embed_query("")


def test_answers_stream(server: OllamaServer) -> None:
    """An answer from documents is streamed for the same prompt as a whole one."""
    generator, docs = LLMGenerator(base_url=server.url), [Document("a text")]
    assert list(generator.stream_answer("why?", docs)) == ["Answer:"]
    assert generator.generate_answer("why?", docs) == "Answer:"
    streamed, whole = server.payloads("/api/generate")
    assert streamed["prompt"] == whole["prompt"]


@pytest.mark.parametrize("window", [300, 1000, 4000, None])
@pytest.mark.parametrize("call", ["generate_answer", "summarize_docs"])
def test_prompts_fit_into_the_window(window: int | None, call: str, caplog: pytest.LogCaptureFixture) -> None:
    """Documents that fit are whole in the prompt, best first, and a warning names each of the others."""
    prompts: list[str] = []

    class Model:
        context_length = window

        def complete(self, prompt: str) -> str:
            prompts.append(prompt)
            return "answer"

        def stream(self, prompt: str) -> Iterator[str]:
            yield self.complete(prompt)

    docs = [Document(f"{n}begins {'word ' * 90}{n}ends", {"source": f"{n}.md"}) for n in range(30)]
    docs.insert(1, Document(f"huge {'word ' * 9000}", {"source": "huge.md"}))
    arguments = ["why?", docs] if call == "generate_answer" else [docs]
    assert getattr(LLMGenerator(llm=Model()), call)(*arguments) == "answer"
    whole = [doc for doc in docs if doc.page_content in prompts[0]]
    assert docs[0] in whole
    assert all((f"{n}begins" in prompts[0]) is (f"{n}ends" in prompts[0]) for n in range(30))
    if window is None:
        assert (whole, caplog.messages) == (docs, [])
        return
    assert approximate_tokens(prompts[0]) <= window - min(ANSWER, window // 2)
    (warning,) = caplog.messages
    assert warning.endswith(": " + ", ".join(doc.metadata["source"] for doc in docs if doc not in whole))


def test_a_document_that_does_not_fit_is_cut(server: OllamaServer, caplog: pytest.LogCaptureFixture) -> None:
    """Where no document fits into the window, the model reads the beginning of the first, and a warning says so."""
    generator = LLMGenerator(base_url=server.url)
    docs = (Document("word " * 9000, {"source": "a.md"}), Document("x " * 9000, id="b"))
    generator.generate_answer("why?", iter(docs))  # type: ignore[arg-type]
    (payload,) = server.payloads("/api/generate")
    assert 2500 < approximate_tokens(payload["prompt"]) <= WINDOW - ANSWER
    (warning,) = caplog.messages
    assert re.search(r"a\.md after [\d,]+ characters, b$", warning)


def test_status(server: OllamaServer, faults: FaultServer) -> None:
    """The status has version and models, or the reason for the failure; it never raises."""
    status = ollama_status(server.url)
    assert (status.running, status.version) == (True, "0.9.6")
    assert status.models == ("llama3.1:latest", "nomic-embed-text:latest")
    down = ollama_status(REFUSED)
    assert not down.running
    assert "ollama serve" in down.problem
    for fault in ("wrong-type", "garbage", "truncate", "hang"):
        assert not ollama_status(faults.url(fault), timeout=0.3).running


@pytest.mark.parametrize(("host", "url"), SAMPLES["hosts"])
def test_ollama_host(host: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OLLAMA_HOST is read as Ollama reads it, unless an address is given."""
    assert host_url(host) == url
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert Ollama("m").base_url == url
    assert OllamaEmbedder("m").base_url == url
    assert Ollama("m", "http://localhost:11434").base_url == "http://localhost:11434"
    assert LLMGenerator("m").llm.base_url == url  # type: ignore[attr-defined]


def test_bad_arguments() -> None:
    """Invalid arguments raise an error with the rule and the value."""
    for make, says in (
        (lambda: Ollama(""), "model must be a text that is not blank, got ''"),
        (lambda: Ollama("m", "ftp://x"), f"base_url must be {BASE_RULE}, got 'ftp://x'"),
        (lambda: Ollama("m", timeout=0), "timeout must be a number of seconds above 0, got 0"),
        (lambda: Ollama("m", options=5), "options must be a mapping, got 5"),  # type: ignore[arg-type]
        (lambda: open_generator(5), "model must be a name such as .* got 5"),  # type: ignore[arg-type]
        (lambda: OllamaEmbedder(batch_size=0), "batch_size must be an int of 1 or more, got 0"),
        (lambda: LLMGenerator(llm=5), "llm must have complete, as an Ollama has, got 5"),  # type: ignore[arg-type]
        (lambda: LLMGenerator().summarize_docs("text"), "page_content of 't' must be a string"),  # type: ignore[arg-type]
        (lambda: LLMGenerator().generate_answer("q", None), "documents must be a list"),  # type: ignore[arg-type]
        (lambda: open_generator("openai:"), "model must be a name such as"),
        (lambda: as_generator(5), "model must be a Generator, the name of a model or None, got 5"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentError, match=says):
            make()


def test_names() -> None:
    """A plain name is a model of Ollama, with its tag; openai: is the other kind."""
    model = open_generator("llama3.1:8b")
    assert repr(model) == "Ollama(model='llama3.1:8b', base_url='http://localhost:11434')"
    assert open_generator("ollama:llama3.1:8b").model == "llama3.1:8b"
    assert open_generator("openai:gpt-x", base_url="http://h/v1").base_url == "http://h/v1"
    embedder = open_embedder("nomic-embed-text")
    assert embedder.fingerprint == "ollama:nomic-embed-text:unit"
    assert open_embedder("openai:e", base_url="http://h/v1").fingerprint == "openai:e:full"
    assert resolve_url("http://h:1/") == "http://h:1"


def test_an_outage_brings_no_storm(server: OllamaServer) -> None:
    """A server that is down gets few more requests than calls are made, since retries share a budget."""
    server.fail("crash", always=True)
    embedder = OllamaEmbedder(base_url=server.url)
    for _ in range(100):
        with pytest.raises(EmbeddingError):
            embedder.embed_query("x")
    assert 100 < len(server.requests) <= 110


class TestOllamaEmbedder(EmbedderContract):
    """The embedder contract over servers with and without batches, scaled and not."""

    @pytest.fixture(params=[(True, False), (False, False), (True, True), (False, True)], autouse=True)
    def running(self, request: pytest.FixtureRequest) -> Iterator[None]:
        batches, self.normalize = request.param
        with OllamaServer(batches=batches) as self.server:
            yield

    def make(self) -> protocols.Embedder:
        return OllamaEmbedder(base_url=self.server.url, normalize=self.normalize)


# A head that drips is not bounded by urllib.
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"drip"}))
def test_no_call_outlasts_its_timeout(fault: str) -> None:
    """Whatever a peer does after a head, each call ends in an error in time and leaves nothing behind."""
    before = Usage.now()
    with FaultServer() as faults:
        url = faults.url(fault)  # type: ignore[arg-type]
        model, embedder = Ollama("m", url, timeout=1), OllamaEmbedder("m", url, timeout=1)
        for call in (model.complete, lambda text: list(model.stream(text)), embedder.embed_query):
            start = monotonic()
            with pytest.raises(RemoteError):
                call("x")
            assert monotonic() - start < 60, "these peers would keep a call for an hour"
    gc.collect()
    wait_until(lambda: Usage.now().is_within(before))
