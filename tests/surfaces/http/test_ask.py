"""POST /v1/ask: answers, whole and as events; a model stops when its reader leaves."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import httpx
import pytest

from sleuth.testing.serving import LocalServer, Reply, Request

from .conftest import Local, events, serving

MANY = 10_000


class Model(LocalServer):
    """Speaks Ollama's API: streams a piece every 50 ms until it has sent `MANY`, or its client leaves.

    Attributes:
        pieces: sent so far.
        left: set when a client left before the end.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pieces, self.left = 0, Event()

    def answer(self, request: Request) -> Reply:
        return Reply(404) if request.path == "/api/show" else Reply(200, pieces=self.words())

    def words(self) -> Iterator[bytes]:
        try:
            for n in range(MANY):
                line = {"message": {"content": f"word{n} "}, "response": f"word{n} ", "done": n == MANY - 1}
                yield json.dumps(line).encode() + b"\n"
                self.pieces += 1
                time.sleep(0.05)
        except GeneratorExit:
            self.left.set()
            raise


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as started:
        yield started


def test_an_answer_cites_its_sources(server: Local) -> None:
    """Without a model, sentences of the passages answer, with numbered citations."""
    answer = server.client.post("/v1/ask", json={"query": "When are tokens refilled?"}).json()
    assert answer["status"] == "success"
    assert answer["grade"] == "likely answers"
    assert "[1]" in answer["response"]
    assert answer["sources"][0]["source"] == "limits.md:1-1"
    assert answer["citations"][0]["number"] == 1
    assert answer["items"] is None
    empty = server.client.post("/v1/ask", json={"query": " "}).json()
    assert (empty["status"], empty["detail"]["code"]) == ("error", "empty")


def test_a_stream_ends_with_what_the_whole_answer_is(server: Local) -> None:
    """The pieces join to the response, and the last event is the whole answer with its citations."""
    body = {"query": "When are tokens refilled?"}
    whole = server.client.post("/v1/ask", json=body).json()
    streamed = server.client.post("/v1/ask", json={**body, "stream": True})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    *pieces, (last, result) = events(streamed)
    assert last == "result"
    assert result == whole
    assert "".join(piece["text"] for _, piece in pieces) == whole["response"]


def test_pieces_come_while_the_model_writes_and_leaving_stops_it(
    index: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first piece arrives long before the last is written; a reader that leaves stops the model."""
    monkeypatch.setenv("OLLAMA_HOST", model.url)
    with serving(index, model="llama3.1") as started:
        body = {"query": "When are tokens refilled?", "stream": True}
        with started.client.stream("POST", "/v1/ask", json=body) as answer:
            texts = answer.iter_text()
            assert next(texts).startswith("event: sources")
            assert "event: text" in next(texts)
        assert model.left.wait(60)
        assert model.pieces < MANY
        model.left.clear()
        with pytest.raises(httpx.ReadTimeout):
            started.client.post("/v1/ask", json={"query": "tokens?"}, timeout=httpx.Timeout(60, read=3))
        assert model.left.wait(60)


def test_a_model_that_fails_is_a_problem(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreachable model is a 502 with the code of its error; a stream has the sources by then, and says it there."""
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")
    with serving(index, model="llama3.1") as started:
        answer = started.client.post("/v1/ask", json={"query": "tokens refilled?"})
        assert (answer.status_code, answer.json()["code"]) == (502, "GenerationError")
        answer = started.client.post("/v1/ask", json={"query": "tokens refilled?", "stream": True})
        (first, sources), (last, problem) = events(answer)
        assert (first, last, problem["code"]) == ("sources", "error", "GenerationError")
        assert sources["sources"][0]["number"] == 1
        assert "refilled" in sources["sources"][0]["text"]


def test_the_deadline_ends_a_model_that_is_slow(
    index: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late whole answer is a 504, a late stream ends with an error event, and the model stops."""
    monkeypatch.setenv("OLLAMA_HOST", model.url)
    with serving(index, model="llama3.1", answer_deadline=1) as started:
        late = started.client.post("/v1/ask", json={"query": "tokens refilled?"})
        assert (late.status_code, late.json()["code"]) == (504, "DeadlineError")
        assert model.left.wait(60)
        streamed = started.client.post("/v1/ask", json={"query": "tokens refilled?", "stream": True})
        last, problem = events(streamed)[-1]
        assert (last, problem["code"]) == ("error", "DeadlineError")
