"""What is no text is refused before it is sent to a model."""

from collections.abc import Callable
from typing import Any

import pytest

from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OllamaEmbedder, OpenAIEmbedder, OpenAIGenerator
from sleuth.testing.ollama import OllamaServer

CALLS: list[Callable[[str, Any], object]] = [
    lambda url, value: Ollama("llama3.1", url).complete(value),
    lambda url, value: list(Ollama("llama3.1", url).stream(value)),
    lambda url, value: OllamaEmbedder(base_url=url).embed_query(value),
    lambda url, value: OllamaEmbedder(base_url=url).embed_documents(["one", value]),
    lambda url, value: OpenAIGenerator("m", url, api_key="").complete(value),
    lambda url, value: list(OpenAIGenerator("m", url, api_key="").stream(value)),
    lambda url, value: OpenAIEmbedder("m", url, api_key="").embed_query(value),
    lambda url, value: OpenAIEmbedder("m", url, api_key="").embed_documents(["one", value]),
]


@pytest.mark.parametrize("value", [None, 3, b"text", ["text"]])
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_text_is_not_sent(
    server: OllamaServer, call: Callable[[str, Any], object], value: Any
) -> None:
    """The error names the value, and the server gets no request."""
    with pytest.raises(
        ArgumentError, match=r"(prompt must be a string|text must be a string|texts must hold strings), got"
    ):
        call(server.url, value)
    assert not server.requests
