"""The OpenAI-compatible clients against a local server that speaks that protocol."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sleuth import protocols
from sleuth.errors import ArgumentError, EmbeddingError, GenerationError
from sleuth.llm import OpenAIEmbedder, OpenAIGenerator
from sleuth.testing.ollama import embed
from sleuth.testing.serving import LocalServer, Reply, Request

KEY = "sk-very-secret"


class OpenAIServer(LocalServer):
    """A server whose completions repeat the last message, and whose embeddings count words, out of order."""

    next: Reply | None = None
    always: Reply | None = None
    done = True

    def answer(self, request: Request) -> Reply | None:
        if self.always is not None:
            return self.always
        if self.next is not None:
            reply, self.next = self.next, None
            return reply
        if request.headers.get("authorization") != f"Bearer {KEY}":
            header = request.headers.get("authorization")
            return _json({"error": {"message": f"Incorrect API key provided: {header}"}}, 401)
        payload = json.loads(request.body)
        if request.path == "/v1/embeddings":
            rows = [{"index": i, "embedding": embed(text)} for i, text in enumerate(payload["input"])]
            return _json({"data": rows[::-1]})
        text = payload["messages"][-1]["content"]
        if payload["stream"]:
            return Reply(200, pieces=self.events(text))
        return _json({"choices": [{"message": {"role": "assistant", "content": text}}]})

    def events(self, text: str) -> Iterator[bytes]:
        yield b": a comment\n\n"
        for word in text.split(" "):
            event = {"choices": [{"delta": {"content": word + " "}, "finish_reason": None}]}
            yield b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
        if self.done:
            yield b"data: [DONE]\n\n"


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode())


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def generator(server: OpenAIServer) -> OpenAIGenerator:
    return OpenAIGenerator("gpt-x", f"{server.url}/v1", api_key=KEY, timeout=60, options={"temperature": 0})


def test_complete_and_stream(server: OpenAIServer, generator: OpenAIGenerator) -> None:
    """A prompt is sent as one user message, and the answer is returned whole or in pieces."""
    assert generator.complete("a b") == "a b"
    assert list(generator.stream("a b")) == ["a ", "b "]
    assert generator.complete("<think>\nHm, [2].\n</think>\n\na b") == "a b"
    assert isinstance(generator, protocols.Generator)
    assert json.loads(server.requests[0].body) == {
        "model": "gpt-x", "messages": [{"role": "user", "content": "a b"}], "stream": False, "temperature": 0,
    }  # fmt: skip


def test_environment(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address and key come from the environment if they are not given, the key without the line break at its end."""
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    assert OpenAIGenerator("gpt-x").complete("hi") == "hi"
    assert OpenAIEmbedder("e").embed_query("a b")
    with pytest.raises(GenerationError, match=r"refused the key .*OPENAI_API_KEY") as caught:
        OpenAIGenerator("gpt-x", api_key="sk-wrong-secret").complete("x")
    assert caught.value.status == 401


def test_nothing_is_sent_where_nobody_names_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI's own address needs its key, or one that is given; the error names both variables."""
    for make in (OpenAIGenerator, OpenAIEmbedder):
        with pytest.raises(ArgumentError, match=r"OPENAI_BASE_URL to its address, or \$OPENAI_API_KEY"):
            make("gpt-x")
        assert make("gpt-x", api_key=KEY).base_url == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert OpenAIGenerator("gpt-x").base_url == "https://api.openai.com/v1"


def test_the_key_does_not_follow_redirects(server: OpenAIServer, generator: OpenAIGenerator) -> None:
    """A redirect raises an error; neither the key nor the prompt is sent on."""
    with OpenAIServer() as elsewhere:
        server.next = Reply(302, headers={"Location": f"{elsewhere.url}/v1/chat/completions"})
        with pytest.raises(GenerationError, match="redirects"):
            generator.complete("x")
        assert elsewhere.requests == []


def test_broken_streams(server: OpenAIServer, generator: OpenAIGenerator) -> None:
    """A stream that ends early, or contains an error or invalid JSON, raises after its pieces."""
    server.done = False
    with pytest.raises(GenerationError, match="before it was done"):
        list(generator.stream("a b"))
    for body, says in (
        (b'data: {"error": {"message": "overloaded"}}\n\n', "overloaded"),
        (b"data: {\n", "not JSON"),
        (b'data: {"choices": [{"delta": {"content": 5}}]}\n\n', "no text"),
        (b'data: {"choices": {"a": 1}}\n\n', "before it was done"),
        (b'data: {"choices": 5}\n\n', "before it was done"),
        (b'{"error": {"message": "no credit"}}', "answered with an error: no credit"),
        (b"<!doctype html>\n<p>Sign in", "not JSON: '<!doctype"),
    ):
        server.next = Reply(200, body)
        with pytest.raises(GenerationError, match=says):
            list(generator.stream("a b"))
    server.next = _json({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]})
    assert list(generator.stream("a b")) == ["whole"]


def test_answers_that_the_limit_of_tokens_ended(server: OpenAIServer, generator: OpenAIGenerator) -> None:
    """They are cut texts; of a stream, the last piece is one, which is empty where the end comes after the text."""
    server.next = _json({"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]})
    assert isinstance(generator.complete("x"), protocols.CutText)
    events = [{"delta": {"content": "first words"}}, {"delta": {}, "finish_reason": "length"}]
    server.next = Reply(200, b"\n".join(json.dumps({"choices": [event]}).encode() for event in events))
    pieces = list(generator.stream("x"))
    assert (pieces, isinstance(pieces[-1], protocols.CutText)) == (["first words", ""], True)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(200, b"{}"), "without a message"),
        (_json({"choices": [{"message": {"content": None}}]}), "without a text"),
        (_json({"error": {"message": "no such model"}}, 404), "answered 404: no such model"),
        (Reply(200, b"<html>"), "not JSON"),
        (Reply(429, b"{}", {"Retry-After": "3600"}), "is busy .*: try again in 3,600 s"),
    ],
)
def test_failures(server: OpenAIServer, generator: OpenAIGenerator, reply: Reply, says: str) -> None:
    """Each failure is raised with the server's message if it sent one."""
    server.next = reply
    with pytest.raises(GenerationError, match=says):
        generator.complete("x")


def test_embedder(server: OpenAIServer) -> None:
    """Vectors are in the order of the texts, in batches, however the server orders them."""
    embedder = OpenAIEmbedder("e", f"{server.url}/v1", api_key=KEY, batch_size=2, dimension=64)
    texts = ["one", "two", "three"]
    assert embedder.embed_documents(texts) == [embed(text) for text in texts]
    assert embedder.embed_query("two") == embed("two")
    assert embedder.embed_documents([]) == []
    assert [len(json.loads(request.body)["input"]) for request in server.requests] == [2, 1, 1]
    assert json.loads(server.requests[0].body)["dimensions"] == 64
    assert isinstance(embedder, protocols.Embedder)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(200, b'{"data": [{"embedding": [1]}]}'), "without vectors"),
        (_json({"data": []}), "one vector per text"),
        (Reply(200, b'{"data": [{"index": 0, "embedding": [NaN]}]}'), "finite numbers"),
        (Reply(200, b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 400)), "vectors of numbers"),
    ],
)
def test_embedder_failures(server: OpenAIServer, reply: Reply, says: str) -> None:
    """A response without valid vectors, such as one of an integer that no float holds, raises an EmbeddingError."""
    server.next = reply
    with pytest.raises(EmbeddingError, match=says):
        OpenAIEmbedder("e", f"{server.url}/v1", api_key=KEY).embed_query("x")


@pytest.mark.parametrize("key", ["sk-ver\ny-secret", "sk-verключ", "sk-ver\x7f"])
def test_a_key_that_no_header_holds_is_refused_unseen(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the invalid character and its place, and nothing else of the key."""
    with pytest.raises(ArgumentError, match=r"^api_key must hold .* at place 7 of") as argument_error:
        OpenAIEmbedder("e", api_key=key)
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ArgumentError, match=r"^OPENAI_API_KEY must hold .* at place 7 of") as variable_error:
        OpenAIGenerator("m")
    assert "sk-ver" not in str(argument_error.value) + str(variable_error.value)
