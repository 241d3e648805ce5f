"""Local servers that speak the search APIs of SearXNG, Brave and Exa, and check what the services check.

Sources: https://docs.searxng.org/dev/search_api.html, the skills that Brave publishes for its API, the client `exa-py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sleuth.testing.serving import LocalServer, Reply, Request


def of_sites(pages: Sequence[Mapping[str, Any]], sites: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the pages of these sites; all without sites."""
    return [page for page in pages if not sites or str(urlsplit(page["url"]).hostname).endswith(tuple(sites))]


class SearchServer(LocalServer):
    """Answers searches from a list of pages, in their order.

    Args:
        pages: what the web holds: dicts with url, title, content and published.

    Attributes:
        asked: the fields of the requests that were answered with results.
        failure_status: of every answer from now on; 0 answers.
    """

    failure: Any = "down"

    def __init__(self, pages: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__()
        self.pages = [dict(page) for page in pages]
        self.asked: list[dict[str, Any]] = []
        self.failure_status = 0

    def answer(self, request: Request) -> Reply:
        """Return results, or the errors of the service."""
        fields = json.loads(request.body) if request.body else dict(parse_qsl(urlsplit(request.path).query))
        status, value = self.failure_status, self.failure
        if not status:
            status, value = self.results(request, fields)
        if status == 200:
            self.asked.append(fields)
        return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def results(self, request: Request, fields: Mapping[str, Any]) -> tuple[int, Any]:
        """Return the status and the content of an answer."""
        raise NotImplementedError


class SearXNGServer(SearchServer):
    """`GET /search?format=json`."""

    def results(self, request: Request, fields: Mapping[str, Any]) -> tuple[int, Any]:
        """Return results with scores."""
        if urlsplit(request.path).path != "/search" or fields.get("format") != "json":
            return 403, "Forbidden"
        if not fields.get("q") or fields.get("time_range", "day") not in ("day", "week", "month", "year"):
            return 400, {"error": "Invalid value"}
        names = {"url": "url", "title": "title", "content": "content", "publishedDate": "published"}
        rows = [{name: page.get(key) for name, key in names.items()} for page in self.pages]
        return 200, {"results": [{**row, "score": 1 / rank} for rank, row in enumerate(rows, 1)]}


class BraveServer(SearchServer):
    """`GET /res/v1/web/search` and `/res/v1/news/search`."""

    failure = {"type": "ErrorResponse", "error": {"detail": "Request rate limit exceeded for plan."}}  # noqa: RUF012

    def results(self, request: Request, fields: Mapping[str, Any]) -> tuple[int, Any]:
        """Return results with further snippets; none of the web have no `web`."""
        path = re.fullmatch(r"/res/v1/(?P<kind>web|news)/search", urlsplit(request.path).path)
        if path is None or request.headers.get("x-subscription-token") != "local":
            return 422, {"error": {"detail": "The provided subscription token is invalid."}}
        query, count = fields.get("q", ""), int(fields.get("count", 20))
        is_valid = 0 < len(query) <= 400 and len(query.split()) <= 50
        is_valid &= 1 <= count <= (20 if path["kind"] == "web" else 50)
        if not is_valid or fields.get("freshness", "pd") not in ("pd", "pw", "pm", "py"):
            return 422, {"error": {"detail": "Unable to validate request parameter(s)"}}
        is_decorated = fields.get("text_decorations", "true") == "true"
        sites = re.findall(r"^\$site=(\S+)$", fields.get("goggles", ""), re.MULTILINE)
        rows = [
            {
                "title": page["title"],
                "url": page["url"],
                "description": f"<strong>{page['content']}</strong>" if is_decorated else page["content"],
                "page_age": page.get("published"),
                **({"extra_snippets": page["more"]} if "more" in page else {}),
            }
            for page in of_sites(self.pages, sites)
        ][:count]
        if path["kind"] == "news":
            return 200, {"type": "news", "results": rows}
        return 200, {"type": "search", **({"web": {"results": rows}} if rows else {})}


class ExaServer(SearchServer):
    """`POST /search`."""

    failure = {"error": "Service down", "tag": "INTERNAL"}  # noqa: RUF012

    def results(self, request: Request, fields: Mapping[str, Any]) -> tuple[int, Any]:
        """Return results with highlights, if they are asked for."""
        if request.headers.get("x-api-key") != "local":
            return 401, {"error": "Invalid API key", "tag": "INVALID_API_KEY"}
        if request.path != "/search" or not fields.get("query") or not 1 <= fields["numResults"] <= 100:
            return 400, {"error": "Invalid request body"}
        rows = [
            {
                "url": page["url"],
                "title": page["title"],
                "publishedDate": page.get("published"),
                **({"highlights": [page["content"]]} if "contents" in fields else {}),
            }
            for page in of_sites(self.pages, fields.get("includeDomains", []))
        ]
        return 200, {"results": rows[: fields["numResults"]]}
