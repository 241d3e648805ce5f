"""Local servers for the language model clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sleuth.llm import http
from sleuth.remote import forget_endpoints
from sleuth.testing.ollama import OllamaServer


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    """An Ollama with llama3.1 and nomic-embed-text."""
    with OllamaServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_ollama_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the machine says nothing about models."""
    for name in ("OLLAMA_HOST", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries come soon, and nothing is known of any service."""
    monkeypatch.setattr(http, "BACKOFF", 0.005)
    forget_endpoints()
