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


class SearchServer(LocalServer):
    """Answers searches from a list of pages, in their order.

    Args:
        pages: what the web holds: dicts with url, title, content and published.
        keys: the API keys that are valid.

    Attributes:
        asked: the fields of the requests that were answered with results.
        failure_status: of every answer from now on; 0 answers.
    """

    def __init__(self, pages: Sequence[Mapping[str, Any]] = (), *, keys: Sequence[str] = ("local",)) -> None:
        super().__init__()
        self.pages, self.keys = [dict(page) for page in pages], set(keys)
        self.asked: list[dict[str, Any]] = []
        self.failure_status = 0

    def _fields(self, request: Request) -> dict[str, str]:
        """Return the fields of a query string."""
        query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
        fields = {name: values[0] for name, values in query.items()}
        self.asked.append(fields)
        return fields


class SearXNGServer(SearchServer):
    """`GET /search?format=json`."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service, which are HTML or one word."""
        if self.failure_status:
            return Reply(
                self.failure_status, b"<html>Too Many Requests</html>", {"Content-Type": "text/html"}
            )
        if urlsplit(request.path).path != "/search":
            return Reply(404, b"<html>Page not found</html>")
        fields = self._fields(request)
        if fields.get("format") != "json":
            return Reply(403, b"Forbidden")
        if not fields.get("q") or fields.get("time_range", "day") not in ("day", "week", "month", "year"):
            return _reply(400, {"error": "Invalid value"})
        results = [
            {
                "template": "default.html",
                "url": page["url"],
                "title": page["title"],
                "content": page["content"],
                "publishedDate": page.get("published"),
                "engine": "wikipedia",
                "engines": ["wikipedia"],
                "positions": [rank],
                "parsed_url": [*urlsplit(page["url"])[:3], "", *urlsplit(page["url"])[3:]],
                "score": 1.0 / rank,
                "category": fields.get("categories", "general"),
            }
            for rank, page in enumerate(self.pages, 1)
        ]
        empty: dict[str, Any] = {key: [] for key in ("answers", "corrections", "infoboxes", "suggestions")}
        return _reply(
            200,
            {
                "query": fields["q"],
                "number_of_results": 0,
                "results": results,
                **empty,
                "unresponsive_engines": [],
            },
        )


class BraveServer(SearchServer):
    """`GET /res/v1/web/search` and `/res/v1/news/search`."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service."""
        if self.failure_status:
            return self._error(self.failure_status, "RATE_LIMITED", "Request rate limit exceeded for plan.")
        path = re.fullmatch(r"/res/v1/(web|news)/search", urlsplit(request.path).path)
        if path is None:
            return self._error(404, "NOT_FOUND", "Not found.")
        if request.headers.get("x-subscription-token") not in self.keys:
            return self._error(
                422, "SUBSCRIPTION_TOKEN_INVALID", "The provided subscription token is invalid."
            )
        fields = self._fields(request)
        query, limit = fields.get("q", ""), 20 if path[1] == "web" else 50
        sound = (
            0 < len(query) <= 400 and len(query.split()) <= 50 and 1 <= int(fields.get("count", 20)) <= limit
        )
        if not sound or fields.get("freshness", "pd") not in ("pd", "pw", "pm", "py"):
            return self._error(422, "VALIDATION", "Unable to validate request parameter(s)")
        return _reply(200, self._found(path[1], fields))

    def _found(self, kind: str, fields: Mapping[str, str]) -> dict[str, Any]:
        decorated = fields.get("text_decorations", "true") == "true"
        allowed = re.findall(r"^\$site=(\S+)$", fields.get("goggles", ""), re.MULTILINE)
        results = [
            {
                "type": f"{kind}_result",
                "title": page["title"],
                "url": page["url"],
                "description": f"<strong>{page['content']}</strong>" if decorated else page["content"],
                "page_age": page.get("published"),
                "language": "en",
                "meta_url": {"hostname": urlsplit(page["url"]).hostname},
                **({"extra_snippets": page["more"]} if "more" in page else {}),
            }
            for page in self.pages
            if not allowed or any((urlsplit(page["url"]).hostname or "").endswith(site) for site in allowed)
        ][: int(fields.get("count", 20))]
        query = {"original": fields["q"], "more_results_available": False}
        if kind == "news":
            return {"type": "news", "query": query, "results": results}
        web = {"web": {"type": "search", "results": results, "family_friendly": True}} if results else {}
        return {"type": "search", "query": query, "mixed": {"type": "mixed", "main": []}, **web}

    def _error(self, status: int, code: str, detail: str) -> Reply:
        error = {"id": "local", "status": status, "code": code, "detail": detail}
        return _reply(status, {"type": "ErrorResponse", "error": error, "time": 1_760_000_000})


class ExaServer(SearchServer):
    """`POST /search`."""

    def answer(self, request: Request) -> Reply | None:
        """Return results, or the errors of the service."""
        if self.failure_status:
            return _reply(
                self.failure_status, {"requestId": "local", "error": "Service down", "tag": "INTERNAL"}
            )
        if (request.method, request.path) != ("POST", "/search"):
            return _reply(404, {"error": "Not found"})
        if request.headers.get("x-api-key") not in self.keys:
            return _reply(401, {"requestId": "local", "error": "Invalid API key", "tag": "INVALID_API_KEY"})
        body = json.loads(request.body)
        if not body.get("query") or not 1 <= body.get("numResults", 10) <= 100:
            return _reply(400, {"requestId": "local", "error": "Invalid request body"})
        self.asked.append(body)
        included = body.get("includeDomains", [])
        results = [
            {
                "id": page["url"],
                "url": page["url"],
                "title": page["title"],
                "author": None,
                "publishedDate": page.get("published"),
                **({"highlights": [page["content"]], "highlightScores": [0.5]} if "contents" in body else {}),
            }
            for page in self.pages
            if not included or any((urlsplit(page["url"]).hostname or "").endswith(site) for site in included)
        ]
        return _reply(
            200,
            {
                "requestId": "local",
                "resolvedSearchType": "neural",
                "results": results[: body.get("numResults", 10)],
                "costDollars": {"total": 0.005},
            },
        )
