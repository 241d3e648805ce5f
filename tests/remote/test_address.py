"""Addresses of services, and how URLs are shown."""

import tomllib
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import ArgumentError
from sleuth.llm import Ollama, OllamaEmbedder, OpenAIEmbedder, OpenAIGenerator
from sleuth.remote import checked_base, shown_url
from sleuth.web.search import WebSearch

ADDRESSES = tomllib.loads(Path(__file__).with_name("addresses.toml").read_text("utf8"))
SECRETS: list[str] = ADDRESSES["secrets"]


@pytest.mark.parametrize("url", SECRETS)
def test_secrets_are_not_shown(url: str) -> None:
    """A shown URL has no user, password, query, fragment or parameter, plain or percent-encoded."""
    assert "hunter2" not in shown_url(url)
    with pytest.raises(ArgumentError) as refused:
        checked_base(url)
    assert "hunter2" not in "".join(traceback.format_exception(refused.value, chain=True))
    assert refused.value.__context__ is None


@pytest.mark.parametrize("url", SECRETS)
@pytest.mark.parametrize(
    "client",
    [
        lambda url: WebSearch(base_url=url),
        lambda url: Ollama("m", url),
        lambda url: OllamaEmbedder("m", url),
        lambda url: OpenAIGenerator("m", url),
        lambda url: OpenAIEmbedder("m", url),
    ],
)
def test_clients_refuse_addresses_that_hold_secrets(client: Callable[[str], object], url: str) -> None:
    """Every client refuses an address with secrets when it is created, so that its repr and errors cannot show it."""
    with pytest.raises(ArgumentError, match="base_url must be") as refused:
        client(url)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OLLAMA_HOST", "TAVILY_BASE_URL"])
def test_the_variable_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid address from the environment raises an error with its variable and without its secrets."""
    monkeypatch.setenv(name, "https://user:hunter2@host/v1")
    clients: dict[str, Callable[[], object]] = {
        "OPENAI_BASE_URL": lambda: OpenAIGenerator("m"),
        "OLLAMA_HOST": lambda: Ollama("m"),
        "TAVILY_BASE_URL": lambda: WebSearch(api_key="k").search("x", 1),
    }
    with pytest.raises(ArgumentError, match=f"{name} must be") as refused:
        clients[name]()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(("url", "expected"), ADDRESSES["shown"])
def test_the_rest_is_shown(url: str, expected: str) -> None:
    """Scheme, host, port and path are shown unchanged."""
    assert shown_url(url) == expected


@given(st.text(alphabet="abc:/@?#%;=&[]\\. \n…ä", max_size=30))
def test_any_text_can_be_shown(text: str) -> None:
    """Any text is shown or omitted, without an exception."""
    shown_url(text)
    shown_url(f"https://{text}")
    shown_url(f"https://host/{text}")
