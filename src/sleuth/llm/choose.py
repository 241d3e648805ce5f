"""Opens the generator or embedder that a model name means.

`openai:NAME` is a model behind an OpenAI-compatible endpoint; `ollama:NAME` or any other name is a model that
Ollama runs.
"""

from __future__ import annotations

from sleuth.errors import ArgumentError
from sleuth.llm.ollama import DEFAULT_URL, Ollama, OllamaEmbedder
from sleuth.llm.openai import OpenAIEmbedder, OpenAIGenerator

Generators = Ollama | OpenAIGenerator


def split_name(name: str) -> tuple[str, str]:
    """Split a name into service and model; tags such as `llama3.1:8b` belong to the model.

    Raises:
        ArgumentError: the name has no model.
    """
    service, colon, model = str(name).partition(":")
    if not colon or service not in ("ollama", "openai"):
        service, model = "ollama", name
    if not isinstance(name, str) or not model.strip():
        raise ArgumentError(f"model must be a name such as 'llama3.1' or 'openai:gpt-4o-mini', got {name!r}")
    return service, model


def open_generator(name: str, *, base_url: str | None = None, context: int | None = None) -> Generators:
    """Return the generator that a name means, without making a request.

    Args:
        context: tokens of prompt and answer that the model reads. Ollama runs it with that window: it cuts longer
            prompts silently, and its own default is 2,048 or 4,096. None asks an endpoint what it reads.
    """
    service, model = split_name(name)
    if service == "openai":
        return OpenAIGenerator(model, base_url, context=context)
    options = {} if context is None else {"num_ctx": context}
    return Ollama(model, base_url or DEFAULT_URL, options=options)


def open_embedder(name: str, *, base_url: str | None = None) -> OllamaEmbedder | OpenAIEmbedder:
    """Return the embedder that a name means, with vectors of length 1, without making a request."""
    service, model = split_name(name)
    if service == "openai":
        return OpenAIEmbedder(model, base_url)
    return OllamaEmbedder(model, base_url or DEFAULT_URL, normalize=True)
