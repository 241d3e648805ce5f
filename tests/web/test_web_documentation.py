"""The examples and names of docs/how-to/search-the-web.md are true."""

from __future__ import annotations

import doctest
from inspect import signature
from pathlib import Path

import pytest

import sleuth.web
from sleuth.testing.tavily import TavilyServer, page
from sleuth.testing.websearch import SearXNGServer
from sleuth.web import SearchOptions

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "search-the-web.md"


def test_its_examples_run(server: TavilyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of the guide prints the output below it, with a local server."""
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-local")
    monkeypatch.setenv("TAVILY_BASE_URL", server.url)
    with SearXNGServer([page(number) for number in (3, 4)]) as searxng:
        monkeypatch.setenv("SEARXNG_BASE_URL", searxng.url)
        result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.attempted > 10
    assert result.failed == 0


def test_it_names_everything() -> None:
    """The guide names every public name and every setting of a search."""
    text = GUIDE.read_text("utf8")
    explained = {"Hit", "Page", "WebSearch"}  # what the names above give and take
    assert [name for name in sleuth.web.__all__ if f"{name}" not in text and name not in explained] == []
    assert [name for name in SearchOptions.__annotations__ if f"`{name}`" not in text] == []
    assert list(signature(sleuth.web.search_web).parameters)[:3] == ["query", "k", "query_id"]
