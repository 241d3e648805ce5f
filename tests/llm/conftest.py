"""Fixtures: local servers for the clients of language models."""

from collections.abc import Iterator

import pytest

from sleuth.llm import http
from sleuth.remote.endpoints import forget_endpoints
from sleuth.testing.ollama import OllamaServer


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    """Return an Ollama server with llama3.1 and nomic-embed-text."""
    with OllamaServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_ollama_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the variables about models from the environment."""
    for name in ("OLLAMA_HOST", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make retries quick, and forget every service."""
    monkeypatch.setattr(http, "BACKOFF", 0.005)
    forget_endpoints()
