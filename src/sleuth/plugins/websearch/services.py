"""What Brave, Exa and SearXNG are sent, and what they answer.

Documented at https://api-dashboard.search.brave.com/app/documentation/web-search/get-started,
https://exa.ai/docs/reference/search and https://docs.searxng.org/dev/search_api.html.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from sleuth.web import WebApi, WebCall, WebEntry, WebQuery, shorten

DAYS: Final = {"day": 1, "week": 7, "month": 31, "year": 365}


def brave_call(query: WebQuery, key: str) -> WebCall:
    """Return a request with domains as a goggle, Brave's list of filter rules."""
    rules = []
    if query.include_domains:  # a bare $discard drops every site that no other rule names
        rules = ["$discard", *(f"$site={domain}" for domain in query.include_domains)]
    rules += [f"$discard,site={domain}" for domain in query.exclude_domains]
    fields = {
        "q": shorten(query.text),
        "count": query.count,
        "freshness": {"day": "pd", "week": "pw", "month": "pm", "year": "py"}.get(query.time_range or ""),
        "goggles": "\n".join(rules),
    }
    kind = "news" if query.topic == "news" else "web"
    if kind == "web":
        fields |= {"text_decorations": "false", "result_filter": "web"}
    parameters = urlencode({name: value for name, value in fields.items() if value})
    return WebCall("GET", f"res/v1/{kind}/search?{parameters}", {"X-Subscription-Token": key})


def brave_entries(answer: Mapping[str, Any]) -> Any:
    """Return the results of a search of the web or of news; an answer without any has no `web`."""
    if answer.get("type") == "news":
        return answer.get("results")
    web = answer.get("web") or ({"results": []} if answer.get("type") == "search" else None)
    return web.get("results") if isinstance(web, dict) else None


def brave_entry(result: Mapping[str, Any]) -> WebEntry:
    """Return the fields of one result. Its text is the description with further snippets; it has no score."""
    snippets = result.get("extra_snippets")
    parts = [result.get("description"), *(snippets if isinstance(snippets, list) else ())]
    content = " ".join(part for part in parts if isinstance(part, str))
    return WebEntry(result.get("url"), result.get("title"), content, None, result.get("page_age"))


BRAVE: Final = WebApi(
    "brave", "BRAVE_BASE_URL", "keys: https://brave.com/search/api", brave_call, brave_entry, brave_entries,
    key_name="BRAVE_API_KEY", public_base="https://api.search.brave.com",
)  # fmt: skip


def exa_call(query: WebQuery, key: str) -> WebCall:
    """Return a request for highlights."""
    day = datetime.now(UTC) - timedelta(days=DAYS.get(query.time_range or "", 0))
    settings = {
        "type": "deep" if query.depth == "advanced" else None,
        "category": {"news": "news", "finance": "financial report"}.get(query.topic),
        "startPublishedDate": f"{day:%Y-%m-%d}T00:00:00.000Z" if query.time_range else None,
        "includeDomains": query.include_domains,
        "excludeDomains": query.exclude_domains,
    }
    body = {"query": shorten(query.text), "numResults": query.count, "contents": {"highlights": True}}
    body |= {name: value for name, value in settings.items() if value}
    headers = {"x-api-key": key, "Content-Type": "application/json"}
    return WebCall("POST", "search", headers, json.dumps(body).encode())


def exa_entry(result: Mapping[str, Any]) -> WebEntry:
    """Return the fields of one result. Results come in order of relevance, mostly without a score."""
    parts = result.get("highlights")
    content = " … ".join(part for part in (parts if isinstance(parts, list) else ()) if isinstance(part, str))
    fields = map(result.get, ("score", "publishedDate"))
    return WebEntry(result.get("url"), result.get("title"), content or result.get("title"), *fields)


EXA: Final = WebApi(
    "exa", "EXA_BASE_URL", "keys: https://exa.ai", exa_call, exa_entry,
    key_name="EXA_API_KEY", public_base="https://api.exa.ai",
)  # fmt: skip


def searxng_call(query: WebQuery, key: str) -> WebCall:
    """Return a request with domains as operators of the query, since the service has no field for them."""
    operators = " OR ".join(f"site:{domain}" for domain in query.include_domains)
    operators += "".join(f" -site:{domain}" for domain in query.exclude_domains)
    fields = {
        "q": f"{shorten(query.text, len(operators))} {operators}".strip(),
        "format": "json",
        "categories": "news" if query.topic == "news" else "general",
        "time_range": query.time_range,
    }
    return WebCall("GET", f"search?{urlencode({name: value for name, value in fields.items() if value})}", {})


def searxng_entry(result: Mapping[str, Any]) -> WebEntry:
    """Return the fields of one result. Pages without a snippet are found by their title."""
    content = result.get("content") or result.get("title")
    published = result.get("publishedDate")
    return WebEntry(result.get("url"), result.get("title"), content, result.get("score"), published)


SEARXNG: Final = WebApi(
    "searxng", "SEARXNG_BASE_URL", "the address of an instance with `json` among its formats",
    searxng_call, searxng_entry,
)  # fmt: skip
