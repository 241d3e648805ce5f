"""The guides to the web name what the package exports."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import sleuth.web
from sleuth.web.search import SearchOptions

GUIDES = Path(__file__).parents[2] / "docs" / "how-to"


def test_it_names_everything() -> None:
    """The guides name every public name and every setting of a search."""
    text = "".join(
        (GUIDES / f"{name}.md").read_text("utf8")
        for name in ("search-the-web", "web-answers-on-disk", "web-services")
    )
    explained = {"Hit", "Page", "WebSearch"}  # what the names above give and take
    explained |= {
        "AGENT",
        "FetchRules",
        "REDIRECTS",
        "address_parts",
        "content_headers",
        "crawl_delay",
    }  # of plugins
    explained |= {"decoded", "domain_of", "fetch_once", "networks_of", "redirect_target"}
    assert [name for name in sleuth.web.__all__ if f"{name}" not in text and name not in explained] == []
    assert [name for name in SearchOptions.__annotations__ if f"`{name}`" not in text] == []
    assert list(signature(sleuth.web.search_web).parameters)[:3] == ["query", "k", "query_id"]
