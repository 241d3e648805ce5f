"""What Tavily is sent, and what it answers.

Documented at https://docs.tavily.com/documentation/api-reference/endpoint/search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from sleuth.web.service import WebApi, WebCall, WebEntry, WebQuery, shorten


def tavily_call(query: WebQuery, key: str) -> WebCall:
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
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    return WebCall("POST", "search", headers, json.dumps(body).encode())


def tavily_entry(result: Mapping[str, Any]) -> WebEntry:
    """Return the fields of one result."""
    return WebEntry(*map(result.get, ("url", "title", "content", "score", "published_date")))


TAVILY: Final = WebApi(
    "tavily", "TAVILY_BASE_URL", "free keys: https://tavily.com", tavily_call, tavily_entry,
    key_name="TAVILY_API_KEY", public_base="https://api.tavily.com",
)  # fmt: skip
