"""A client of Tavily's search service.

Documented at https://docs.tavily.com/documentation/api-reference/endpoint/search.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from sleuth.errors import WebError
from sleuth.remote import Deadline, Mask, Response, TurnError, endpoint_at, port_of, retry
from sleuth.web.http import BrokenConnectionError, request, resolve, split
from sleuth.web.keys import PUBLIC_BASE

MAX_RESULTS = 20
"""Maximum number of results of one request."""
MAX_QUERY = 400
"""Maximum number of characters of a query."""

RETRIES = 3
BACKOFF = 1.0
"""Seconds before the first retry, doubled with each."""
ATTEMPT_TIMEOUT = 10.0
"""Seconds for one attempt, so that one that hangs leaves time for another."""
MAX_BYTES = 16_000_000

_SPACE = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Hit:
    """One page that the service found.

    Attributes:
        content: the part that fits the query, cleaned.
        domain: host of the url without `www.`.
        score: relevance by the service, higher is better; 0 if it sent none.
        published: date as the service wrote it, or None.
    """

    url: str
    title: str
    content: str
    domain: str
    score: float = 0.0
    published: str | None = None


class BusyError(WebError):
    """The service is overloaded or failing; a retry may succeed.

    Attributes:
        after: seconds that it asked to wait, or None.
    """

    after: float | None = None

    @property
    def again(self) -> retry.Again:
        """Why a retry may succeed."""
        return retry.Again(self.after, "rate" if self.status == 429 else "outage")


def clean(text: str) -> str:
    """Clean text to one line: resolve entities, collapse white space, drop control characters and lone
    surrogates.
    """
    return _SPACE.sub(" ", _CONTROL.sub("", html.unescape(text))).strip()


def domain_of(url: str) -> str:
    """Return the host of a URL in lower case without `www.`, or "" if it has no host."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def shorten(query: str) -> str:
    """Cut a query to `MAX_QUERY` characters, the service's limit, between words if possible."""
    if len(query) <= MAX_QUERY:
        return query
    head = query[: MAX_QUERY + 1].rpartition(" ")[0]
    return head.strip() or query[:MAX_QUERY]


@dataclass(frozen=True, slots=True)
class Tavily:
    """A client of the service. Its repr and its errors never hold the key."""

    key: str
    base_url: str = PUBLIC_BASE

    def __repr__(self) -> str:
        return f"Tavily(base_url={self.base_url!r})"

    def search(self, query: str, api_k: int, options: Mapping[str, Any], deadline: Deadline) -> list[Hit]:
        """Return the hits for one query, in the service's order. 429, 5xx and broken connections are retried.

        Args:
            api_k: `max_results` of the request, 1 to `MAX_RESULTS`.
            options: further fields of the request body.

        Raises:
            WebError: the service refused or did not answer; `status` says how.
        """
        body = json.dumps({"query": shorten(query), "max_results": api_k, **options}).encode()
        try:
            return retry.call(
                lambda deadline: self._attempt(body, deadline),
                again=_again,
                retries=RETRIES,
                base=BACKOFF,
                deadline=deadline,
                endpoint=endpoint_at(self.base_url),
            )
        except TurnError as error:
            late = str(error)
        raise BusyError(f"tavily: {late}", service="tavily", url=self.base_url, status=429)

    def _attempt(self, body: bytes, deadline: Deadline) -> list[Hit]:
        url = f"{self.base_url.rstrip('/')}/search"
        parts = split(url)
        own = deadline.within(ATTEMPT_TIMEOUT)
        addresses = resolve(parts.hostname or "", port_of(parts), own)
        answer = request(
            "POST", url, addresses, deadline=own, body=body, max_bytes=MAX_BYTES,
            headers={
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
                "Accept": "application/json",
            },
        )  # fmt: skip
        if answer.status != 200:
            raise self._refusal(url, answer)
        return read_hits(answer.body, url)

    def _refusal(self, url: str, answer: Response) -> WebError:
        detail = Mask([self.key]).hide(_error_text(answer.body))[:300]
        message = (
            f"tavily answered {answer.status}: {detail}" if detail else f"tavily answered {answer.status}"
        )
        if answer.status == 429 or answer.status >= 500:
            busy = BusyError(message, service="tavily", url=url, status=answer.status)
            busy.after = retry.retry_after(answer.headers.get("Retry-After"))
            return busy
        return WebError(message, service="tavily", url=url, status=answer.status)


def _again(error: Exception) -> retry.Again | None:
    if isinstance(error, BusyError):
        return error.again
    return retry.Again() if isinstance(error, BrokenConnectionError) else None


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error_text(body: bytes) -> str:
    """Return the service's message of an error: `{"detail": {"error": ...}}`, or a plain `detail`."""
    value = _parse(body)
    detail = value.get("detail") if isinstance(value, dict) else None
    words = detail.get("error") if isinstance(detail, dict) else detail
    return clean(words) if isinstance(words, str) else ""


def read_hits(body: bytes, url: str) -> list[Hit]:
    """Parse the hits of an answer, unique by url; entries without a url or a text are dropped.

    Raises:
        WebError: the body is not what the service documents.
    """
    value = _parse(body)
    results = value.get("results") if isinstance(value, dict) else None
    if not isinstance(results, list):
        raise WebError(
            'tavily answered 200 without a JSON list of "results"', service="tavily", url=url, status=200
        )
    hits: dict[str, Hit] = {}
    for entry in results:
        hit = _hit(entry) if isinstance(entry, dict) else None
        if hit is not None:
            hits.setdefault(hit.url, hit)
    return list(hits.values())


def _hit(entry: dict[str, Any]) -> Hit | None:
    address, content, title = (entry.get(name) for name in ("url", "content", "title"))
    if not isinstance(address, str) or not isinstance(content, str) or not domain_of(address):
        return None
    score, published = entry.get("score"), entry.get("published_date")
    text = clean(content)
    if not text:
        return None
    return Hit(
        url=address.strip(),
        title=clean(title) if isinstance(title, str) else "",
        content=text,
        domain=domain_of(address.strip()),
        score=float(score) if _is_number(score) else 0.0,
        published=published if isinstance(published, str) and published else None,
    )


def _is_number(value: object) -> TypeGuard[int | float]:
    """Tell whether a value can be a score: a number below 1e9, not a bool, NaN or infinity."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9
