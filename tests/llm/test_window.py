"""What a model reads: the limits that OpenAI-compatible servers name, each in its own way."""

import json
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

import pytest

from sleuth import Engine
from sleuth.answer import budget_of
from sleuth.engine.answers import as_generator
from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OpenAIGenerator, openai
from sleuth.testing.serving import LocalServer, Reply, Request
from sleuth.types import Document


class ModelServer(LocalServer):
    """A server that answers requests for its pages, and completes prompts."""

    pages: Mapping[str, Any] = {}

    def answer(self, request: Request) -> Reply | None:
        if request.path == "/v1/chat/completions":
            return _json({"choices": [{"message": {"content": "Ten tokens [1]."}}]})
        return _json(self.pages[request.path]) if request.path in self.pages else Reply(404)

    @property
    def paths(self) -> list[str]:
        """The pages that were requested."""
        return [request.path for request in self.requests]


def _json(value: Any) -> Reply:
    return Reply(200, json.dumps(value).encode())


def _list(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


LLAMA = {"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072, "n_vocab": 32_000}}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Return a server without pages; what other servers said is forgotten."""
    monkeypatch.setattr(openai, "_answers", {})
    monkeypatch.delenv("SLEUTH_MODEL_CONTEXT", raising=False)
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ({"/v1/models": _list({"id": "m", "max_model_len": 32_768})}, 32_768),  # vLLM, SGLang
        ({"/v1/models": _list({"id": "served", "max_model_len": 4096})}, 4096),  # its only model
        ({"/v1/models": _list({"id": "a", "context_length": 9}, {"id": "m", "context_length": 8192})}, 8192),
        (
            {
                "/v1/models": _list(
                    {"id": "m", "context_length": 128_000, "top_provider": {"context_length": 65_536}}
                )
            },
            65_536,  # OpenRouter
        ),
        ({"/v1/models": [{"id": "m", "context_length": 16_384}]}, 16_384),  # Together
        ({"/v1/models": _list({"id": "m", "max_context_length": 32_000})}, 32_000),  # Mistral
        ({"/v1/models": _list({"id": "m", "context_window": 131_072})}, 131_072),  # Groq
        ({"/v1/models": _list(LLAMA), "/props": {"default_generation_settings": {"n_ctx": 8192}}}, 8192),
        ({"/v1/models": _list(LLAMA)}, 131_072),  # llama.cpp, whose /props may be switched off
        (
            {
                "/v1/models": _list({"id": "m"}, {"id": "n"}),
                "/api/v0/models": _list(
                    {"id": "m", "loaded_context_length": 4096, "max_context_length": 131_072}
                ),
            },
            4096,  # LM Studio
        ),
        (
            {"/v1/models": _list({"id": "m"}), "/api/v0/models": _list({"id": "m", "max_context_length": 9})},
            None,
        ),
        ({"/v1/models": _list({"id": "m", "owned_by": "system"})}, None),  # OpenAI
        ({"/v1/models": _list({"id": "m", "max_model_len": "many"}, {"id": "n", "max_model_len": 5})}, None),
        ({"/v1/models": _list({"id": "m", "max_model_len": True})}, None),
        ({"/v1/models": {"data": 5}}, None),
        ({"/v1/models": "no list"}, None),
        ({}, None),
    ],
)
def test_what_servers_say(server: ModelServer, pages: Mapping[str, Any], expected: int | None) -> None:
    """Each server says in its own way how many tokens it runs a model with; what is not a number does not count."""
    server.pages = pages
    model = OpenAIGenerator("m", f"{server.url}/v1", api_key="k")
    assert model.context_length == expected
    assert budget_of(model) == (3000 if expected is None else expected - 1300)


def test_a_server_is_asked_once(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Further answers of a process do not ask again; a server that failed is asked again."""
    for _ in range(2):
        assert OpenAIGenerator("m", f"{server.url}/v1").context_length is None
    assert server.paths == ["/v1/models"] * 2
    server.pages = {"/v1/models": _list({"id": "m", "max_model_len": 2048})}
    for _ in range(2):
        assert OpenAIGenerator("m", f"{server.url}/v1").context_length == 2048
    assert server.paths == ["/v1/models"] * 3
    # A server that was started again with another limit is asked again after `REMEMBERED` seconds.
    model = OpenAIGenerator("m", f"{server.url}/v1")
    server.pages = {"/v1/models": _list({"id": "m", "max_model_len": 4096})}
    assert model.context_length == 2048
    now = monotonic()
    monkeypatch.setattr(openai, "monotonic", lambda: now + openai.REMEMBERED + 1)
    assert model.context_length == 4096


def test_a_given_context_is_not_asked_for(server: ModelServer) -> None:
    """A generator that is told its context takes it, and one with 0 tokens is refused."""
    assert OpenAIGenerator("m", f"{server.url}/v1", context=9000).context_length == 9000
    assert server.paths == []
    with pytest.raises(ArgumentError, match="context must be"):
        OpenAIGenerator("m", f"{server.url}/v1", context=0)


def test_the_environment_names_a_context(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """$SLEUTH_MODEL_CONTEXT counts for each service; what is no number is refused."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("SLEUTH_MODEL_CONTEXT", "16000")
    generator, model = as_generator("openai:m"), as_generator("llama3.1")
    assert budget_of(generator) == 16_000 - 1300
    assert isinstance(model, Ollama)
    assert model.options == {"num_ctx": 16_000}
    for wrong in ("0", "-5", "many", "1e4"):
        monkeypatch.setenv("SLEUTH_MODEL_CONTEXT", wrong)
        with pytest.raises(ArgumentError, match="SLEUTH_MODEL_CONTEXT must be a number"):
            as_generator("llama3.1")


def test_an_answer_obeys_the_limit(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A model with a small window gets a prompt that fits; one with a large one gets all passages."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    texts = [f"The bucket number {i} is refilled with tokens. " + f"Word{i} " * 350 for i in range(12)]
    lengths = []
    with Engine.open(tmp_path / "i", create=True) as engine:
        engine.add([Document(text, {"source": f"{i}.md"}) for i, text in enumerate(texts)])
        for limit in (2048, 131_072):
            monkeypatch.setattr(openai, "_answers", {})
            server.pages = {"/v1/models": _list({"id": "m", "max_model_len": limit})}
            result = engine.search("Which bucket is refilled?", 12, model="openai:m")
            assert result.is_ok()
            body = json.loads(server.requests[-1].body)
            lengths.append(len(body["messages"][0]["content"]))
    assert lengths[0] < 2048 * 4
    assert lengths[1] > 12 * 350 * 5
