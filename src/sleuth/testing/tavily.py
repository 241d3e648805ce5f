"""A local server that speaks Tavily's documented search API.

Requests are checked as the service checks them, the key included; errors have its statuses and its body,
`{"detail": {"error": ...}}`. Source: https://docs.tavily.com/documentation/api-reference/endpoint/search.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from time import sleep
from typing import Any
from urllib.parse import urlsplit

from sleuth.testing.serving import LocalServer, Reply, Request

MESSAGES = {
    401: "Unauthorized: missing or invalid API key.",
    403: "URL is not supported",
    429: "Your request has been blocked due to excessive requests. Please reduce rate of requests.",
    432: "This request exceeds your plan's set usage limit. Please upgrade your plan.",
    433: "This request exceeds the pay-as-you-go limit. You can increase your limit on the Tavily dashboard.",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "search_depth": ("basic", "advanced", "fast", "ultra-fast"),
    "topic": ("general", "news", "finance"),
    "time_range": ("day", "week", "month", "year", "d", "w", "m", "y"),
}


def error(status: int, message: str | None = None, *, retry_after: str | None = None) -> Reply:
    """Return an error as the service words it."""
    body = json.dumps({"detail": {"error": message or MESSAGES.get(status, "Error")}}).encode()
    headers = {"Content-Type": "application/json"}
    return Reply(status, body, headers | ({"Retry-After": retry_after} if retry_after is not None else {}))


def page(number: int, **extra: Any) -> dict[str, Any]:
    """Return a page of the pretended web, with `extra` laid over it."""
    return {
        "url": f"https://www.site{number}.org/page",
        "title": f"Title {number}",
        "content": f"Text about climate, number {number}.",
        **extra,
    }


class TavilyServer(LocalServer):
    """Answers `POST /search` from a list of pages, in their order.

    Args:
        pages: what the web holds: dicts with url, title, content, and score or published_date where wanted.
        keys: the API keys that are valid.

    Attributes:
        asked: the bodies of the requests that were answered with results.
    """

    def __init__(
        self,
        pages: Sequence[Mapping[str, Any]] = (),
        *,
        keys: Sequence[str] = ("tvly-local",),
    ) -> None:
        super().__init__()
        self.pages = list(pages)
        self.keys = set(keys)
        self.asked: list[dict[str, Any]] = []
        self._script: deque[Reply | float | None] = deque()
        self._always: Reply | None = None

    def next(self, *events: Reply | float | None) -> None:
        """Scripts the coming requests, one event each: a reply instead of an answer, None to break the
        connection, or seconds to wait before answering.
        """
        self._script.extend(events)

    def clear(self) -> None:
        """Forgets what is scripted."""
        self._script.clear()

    def always(self, reply: Reply | None) -> None:
        """Answers every request so from now on; None ends it."""
        self._always = reply

    def refusal(self, request: Request) -> Reply:
        """429 in the service's words."""
        return error(429)

    def answer(self, request: Request) -> Reply | None:
        """Return the reply of the service, or what the script says."""
        with self._lock:
            event: Reply | float | None = self._script.popleft() if self._script else 0.0
        if isinstance(event, float | int):
            sleep(event)
        else:
            return event
        if self._always is not None:
            return self._always
        if (request.method, urlsplit(request.path).path) != ("POST", "/search"):
            return error(404, "Not Found")
        return self._search(request)

    def _search(self, request: Request) -> Reply:
        try:
            body = json.loads(request.body)
        except ValueError:
            return error(400, "Invalid JSON")
        if not isinstance(body, dict):
            return error(400, "Invalid JSON")
        key = request.headers.get("authorization", "").removeprefix("Bearer ") or body.get("api_key")
        if key not in self.keys:
            return error(401)
        if message := _broken_rule(body):
            return error(400, message)
        included, refused = body.get("include_domains") or (), body.get("exclude_domains") or ()
        results = []
        for rank, page in enumerate(self.pages):
            host = (urlsplit(page.get("url") or "").hostname or "").removeprefix("www.")
            if (included and not _under(host, included)) or _under(host, refused):
                continue
            results.append({"raw_content": None, "score": 1.0 / (1 + rank), **page})
        with self._lock:
            self.asked.append(body)
        answer = {
            "query": body["query"],
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": results[: body.get("max_results", 5)],
            "response_time": 0.01,  # seconds; nothing reads them
            "request_id": f"local-{len(self.asked)}",
        }
        return Reply(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})


def _under(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _broken_rule(body: Mapping[str, Any]) -> str | None:
    """Return what the service would say is wrong with a request, or None."""
    query, count = body.get("query"), body.get("max_results", 5)
    if not isinstance(query, str) or not query.strip():
        return "Query is missing."
    if len(query) > 400:
        return "Query is too long. Max query length is 400 characters."
    if not isinstance(count, int) or not 0 <= count <= 20:
        return "Invalid max_results. Must be between 0 and 20."
    for name, choices in _CHOICES.items():
        if body.get(name) is not None and body[name] not in choices:
            return f"Invalid {name}. Must be one of {', '.join(choices)}."
    return None
