"""A client of SearXNG, a metasearch engine that people run themselves.

Documented at https://docs.searxng.org/dev/search_api.html. Its settings must have `json` among `search.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from sleuth.web.service import MAX_QUERY, RemoteService, WebCall, WebEntry, WebQuery, shorten

LEAST_TEXT = 100
"""Characters that the text of a query may have, however many domains it names."""


class SearXNG(RemoteService):
    """`GET /search` with `format=json`, without a key."""

    name: ClassVar = "searxng"
    base_name: ClassVar = "SEARXNG_BASE_URL"
    where: ClassVar = "the address of an instance with `json` among its formats"

    def call(self, query: WebQuery) -> WebCall:
        """Return the request. Domains are operators of the query, since the service has no field for them."""
        operators = " OR ".join(f"site:{domain}" for domain in query.include_domains)
        operators += "".join(f" -site:{domain}" for domain in query.exclude_domains)
        text = f"{shorten(query.text, max(LEAST_TEXT, MAX_QUERY - len(operators)))} {operators}".strip()
        fields = {
            "q": text,
            "format": "json",
            "categories": "news" if query.topic == "news" else "general",
            "time_range": query.time_range,
        }
        parameters = urlencode({name: value for name, value in fields.items() if value})
        return WebCall("GET", f"search?{parameters}", {})

    def entry(self, result: Mapping[str, Any]) -> WebEntry:
        """Return the fields of one result. Pages without a snippet are found by their title."""
        content = result.get("content") or result.get("title")
        published = result.get("publishedDate")
        return WebEntry(result.get("url"), result.get("title"), content, result.get("score"), published)
