"""Queries that the page refuses."""

from __future__ import annotations

from pathlib import Path

from sleuth.surfaces.cli.serve import extensions
from tests.surfaces.http.conftest import serving


def test_a_query_that_is_too_long_is_refused_with_the_rule(corpus: Path) -> None:
    """The page does not search for a part of a query in silence; it says how many characters a query may have."""
    with serving(corpus / ".sleuth", extensions=extensions(), sources=("docs",)) as server:
        answer = server.client.get("/", params={"q": "a" * 10_001})
        assert "query must have at most 10,000 characters, got 10,001" in answer.text
        assert server.client.get("/", params={"q": "a" * 10_000}).status_code == 200
