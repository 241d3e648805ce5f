"""Which model does a name mean?

`openai:NAME` is a model behind an OpenAI-compatible endpoint; `ollama:NAME`, or any other name, one that
Ollama runs.
"""

from __future__ import annotations

from sleuth.errors import ArgumentError
from sleuth.llm.ollama import DEFAULT_URL, Ollama, OllamaEmbedder
from sleuth.llm.openai import OpenAIEmbedder, OpenAIGenerator

Embedders = OllamaEmbedder | OpenAIEmbedder
Generators = Ollama | OpenAIGenerator


def split_name(name: str) -> tuple[str, str]:
    """The service and the model that a name means; tags such as `llama3.1:8b` belong to the model.

    Raises:
        ArgumentError: no model is named.
    """
    service, colon, model = name.partition(":")
    if not colon or service not in ("ollama", "openai"):
        service, model = "ollama", name
    if not model.strip():
        raise ArgumentError(f"model must be a name such as 'llama3.1' or 'openai:gpt-4o-mini', got {name!r}")
    return service, model


def open_generator(
    name: str, *, base_url: str | None = None, timeout: float = 300.0, context: int | None = None
) -> Generators:
    """The generator that a name means; no request is made yet.

    Args:
        context: tokens of prompt and answer that Ollama is asked to have room for; it cuts longer prompts
            without a word, and its own default has room for 2,048 or 4,096.
    """
    service, model = split_name(name)
    if service == "openai":
        return OpenAIGenerator(model, base_url, timeout=timeout)
    options = {} if context is None else {"num_ctx": context}
    return Ollama(model, base_url or DEFAULT_URL, timeout=timeout, options=options)


def open_embedder(name: str, *, base_url: str | None = None, timeout: float = 120.0) -> Embedders:
    """The embedder that a name means, with vectors of length 1; no request is made yet."""
    service, model = split_name(name)
    if service == "openai":
        return OpenAIEmbedder(model, base_url, timeout=timeout)
    return OllamaEmbedder(model, base_url or DEFAULT_URL, timeout=timeout, normalize=True)
