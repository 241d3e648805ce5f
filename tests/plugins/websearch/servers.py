"""Local servers that speak the search APIs of SearXNG, Brave and Exa.

Requests are checked as the services check them, the key included. Sources: https://docs.searxng.org/dev/search_api.html,
`webadapter.py` of SearXNG, the skills that Brave publishes for its API, and the client `exa-py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from sleuth.testing.serving import LocalServer, Reply, Request


def _reply(status: int, value: Any) -> Reply:
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def _of_sites(pages: Sequence[Mapping[str, Any]], sites: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the pages of these sites; all without sites."""
    return [
        page for page in pages if not sites or (urlsplit(page["url"]).hostname or "").endswith(tuple(sites))
    ]


class SearchServer(LocalServer):
    """Answers searches from a list of pages, in their order.

    Args:
        pages: what the web holds: dicts with url, title, content and published.

    Attributes:
        asked: the fields of the requests that were answered with results.
        failure_status: of every answer from now on; 0 answers.
    """

    def __init__(self, pages: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.pages = [dict(page) for page in pages]
        self.asked: list[dict[str, Any]] = []
        self.failure_status = 0

    def _fields(self, request: Request) -> dict[str, str]:
        """Return the fields of a query string."""
        query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
        fields = {name: values[0] for name, values in query.items()}
        self.asked.append(fields)
        return fields


class SearXNGServer(SearchServer):
    """`GET /search?format=json`; errors are HTML or one word."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service."""
        if self.failure_status:
            page = b"<html>Too Many Requests</html>"
            return Reply(self.failure_status, page, {"Content-Type": "text/html"})
        fields = self._fields(request)
        if urlsplit(request.path).path != "/search" or fields.get("format") != "json":
            return Reply(403, b"Forbidden")
        if not fields.get("q") or fields.get("time_range", "day") not in ("day", "week", "month", "year"):
            return _reply(400, {"error": "Invalid value"})
        results = [
            {
                **{name: page[name] for name in ("url", "title", "content")},
                "publishedDate": page.get("published"),
                "score": 1.0 / rank,
            }
            for rank, page in enumerate(self.pages, 1)
        ]
        return _reply(200, {"query": fields["q"], "results": results})


class BraveServer(SearchServer):
    """`GET /res/v1/web/search` and `/res/v1/news/search`."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service."""
        path = re.fullmatch(r"/res/v1/(?P<kind>web|news)/search", urlsplit(request.path).path)
        if self.failure_status or path is None:
            return self._error(self.failure_status or 404, "Request rate limit exceeded for plan.")
        if request.headers.get("x-subscription-token") != "local":
            return self._error(422, "The provided subscription token is invalid.")
        fields = self._fields(request)
        query, count = fields.get("q", ""), int(fields.get("count", 20))
        is_valid = 0 < len(query) <= 400 and len(query.split()) <= 50
        is_valid &= 1 <= count <= (20 if path["kind"] == "web" else 50)
        if not is_valid or fields.get("freshness", "pd") not in ("pd", "pw", "pm", "py"):
            return self._error(422, "Unable to validate request parameter(s)")
        decorated = fields.get("text_decorations", "true") == "true"
        allowed = re.findall(r"^\$site=(\S+)$", fields.get("goggles", ""), re.MULTILINE)
        results = [
            {
                "title": page["title"],
                "url": page["url"],
                "description": f"<strong>{page['content']}</strong>" if decorated else page["content"],
                "page_age": page.get("published"),
                **({"extra_snippets": page["more"]} if "more" in page else {}),
            }
            for page in _of_sites(self.pages, allowed)
        ][:count]
        if path["kind"] == "news":
            return _reply(200, {"type": "news", "results": results})
        web = {"web": {"type": "search", "results": results}} if results else {}
        return _reply(200, {"type": "search", **web})

    def _error(self, status: int, detail: str) -> Reply:
        return _reply(status, {"type": "ErrorResponse", "error": {"detail": detail}})


class ExaServer(SearchServer):
    """`POST /search`."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service."""
        if self.failure_status:
            return _reply(self.failure_status, {"error": "Service down", "tag": "INTERNAL"})
        if request.headers.get("x-api-key") != "local":
            return _reply(401, {"error": "Invalid API key", "tag": "INVALID_API_KEY"})
        body = json.loads(request.body)
        if request.path != "/search" or not body.get("query") or not 1 <= body["numResults"] <= 100:
            return _reply(400, {"error": "Invalid request body"})
        self.asked.append(body)
        results = [
            {
                "url": page["url"],
                "title": page["title"],
                "publishedDate": page.get("published"),
                **({"highlights": [page["content"]]} if "contents" in body else {}),
            }
            for page in _of_sites(self.pages, body.get("includeDomains", []))
        ]
        return _reply(200, {"results": results[: body["numResults"]]})
