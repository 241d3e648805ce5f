"""A client of Tavily.

Documented at https://docs.tavily.com/documentation/api-reference/endpoint/search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from sleuth.web.service import RemoteService, WebCall, WebEntry, WebQuery, shorten


class Tavily(RemoteService):
    """`POST /search` with a bearer key."""

    name: ClassVar = "tavily"
    key_name: ClassVar = "TAVILY_API_KEY"
    base_name: ClassVar = "TAVILY_BASE_URL"
    public_base: ClassVar = "https://api.tavily.com"
    where: ClassVar = "free keys: https://tavily.com"

    def call(self, query: WebQuery) -> WebCall:
        """Return the request, without settings that are the service's defaults."""
        settings = {
            "search_depth": query.depth if query.depth != "basic" else None,
            "topic": query.topic if query.topic != "general" else None,
            "time_range": query.time_range,
            "include_domains": query.include_domains,
            "exclude_domains": query.exclude_domains,
        }
        body = {"query": shorten(query.text), "max_results": query.count}
        body |= {name: value for name, value in settings.items() if value}
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        return WebCall("POST", "search", headers, json.dumps(body).encode())

    def entry(self, result: Mapping[str, Any]) -> WebEntry:
        """Return the fields of one result."""
        return WebEntry(*map(result.get, ("url", "title", "content", "score", "published_date")))
