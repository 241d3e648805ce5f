"""A client of Brave Search.

Documented at https://api-dashboard.search.brave.com/app/documentation/web-search/get-started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from sleuth.web.service import RemoteService, WebCall, WebEntry, WebQuery, shorten

FRESHNESS = {"day": "pd", "week": "pw", "month": "pm", "year": "py"}


class Brave(RemoteService):
    """`GET /res/v1/web/search`, or `/res/v1/news/search`, with the key in a header."""

    name: ClassVar = "brave"
    key_name: ClassVar = "BRAVE_API_KEY"
    base_name: ClassVar = "BRAVE_BASE_URL"
    public_base: ClassVar = "https://api.search.brave.com"
    where: ClassVar = "keys: https://brave.com/search/api"

    def call(self, query: WebQuery) -> WebCall:
        """Return the request. Domains are sent as a goggle, Brave's list of filter rules."""
        rules = []
        if query.include_domains:  # a bare $discard drops every site that no other rule names
            rules = ["$discard", *(f"$site={domain}" for domain in query.include_domains)]
        rules += [f"$discard,site={domain}" for domain in query.exclude_domains]
        fields = {
            "q": shorten(query.text),
            "count": query.count,
            "freshness": FRESHNESS.get(query.time_range or ""),
            "goggles": "\n".join(rules),
        }
        kind = "news" if query.topic == "news" else "web"
        if kind == "web":
            fields |= {"text_decorations": "false", "result_filter": "web"}
        parameters = urlencode({name: value for name, value in fields.items() if value})
        return WebCall("GET", f"res/v1/{kind}/search?{parameters}", {"X-Subscription-Token": self.key or ""})

    def entries(self, answer: Mapping[str, Any]) -> list[Any] | None:
        """Return the results of a search of the web or of news; an answer without any has no `web`."""
        if answer.get("type") == "news":
            return answer.get("results")
        web = answer.get("web") or ({"results": []} if answer.get("type") == "search" else None)
        return web.get("results") if isinstance(web, dict) else None

    def entry(self, result: Mapping[str, Any]) -> WebEntry:
        """Return the fields of one result. Its text is the description with further snippets; it has no score."""
        more = result.get("extra_snippets")
        parts = [result.get("description"), *(more if isinstance(more, list) else ())]
        content = " ".join(part for part in parts if isinstance(part, str))
        return WebEntry(result.get("url"), result.get("title"), content, None, result.get("page_age"))
