"""A client of Exa.

Documented at https://exa.ai/docs/reference/search.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sleuth.web.service import RemoteService, WebCall, WebEntry, WebQuery, shorten

DAYS = {"day": 1, "week": 7, "month": 31, "year": 365}
CATEGORIES = {"news": "news", "finance": "financial report"}


class Exa(RemoteService):
    """`POST /search` with the key in a header; the texts are highlights."""

    name: ClassVar = "exa"
    key_name: ClassVar = "EXA_API_KEY"
    base_name: ClassVar = "EXA_BASE_URL"
    public_base: ClassVar = "https://api.exa.ai"
    where: ClassVar = "keys: https://exa.ai"

    def call(self, query: WebQuery) -> WebCall:
        """Return the request."""
        since = None
        if query.time_range is not None:
            day = datetime.now(UTC) - timedelta(days=DAYS[query.time_range])
            since = f"{day:%Y-%m-%d}T00:00:00.000Z"
        settings = {
            "type": "deep" if query.depth == "advanced" else None,
            "category": CATEGORIES.get(query.topic),
            "startPublishedDate": since,
            "includeDomains": query.include_domains,
            "excludeDomains": query.exclude_domains,
        }
        body = {"query": shorten(query.text), "numResults": query.count, "contents": {"highlights": True}}
        body |= {name: value for name, value in settings.items() if value}
        headers = {"x-api-key": self.key or "", "Content-Type": "application/json"}
        return WebCall("POST", "search", headers, json.dumps(body).encode())

    def entry(self, result: Mapping[str, Any]) -> WebEntry:
        """Return the fields of one result. Results come in order of relevance, mostly without a score."""
        highlights = result.get("highlights")
        parts = highlights if isinstance(highlights, list) else []
        content = " … ".join(part for part in parts if isinstance(part, str))
        fields = map(result.get, ("score", "publishedDate"))
        return WebEntry(result.get("url"), result.get("title"), content or result.get("title"), *fields)
