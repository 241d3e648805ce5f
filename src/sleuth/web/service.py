"""What every service that searches the web shares: a request with retries, and hits with clean texts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from sleuth.errors import WebError
from sleuth.remote import Deadline, Response, port_of, retry
from sleuth.remote.endpoints import TurnError, endpoint_at
from sleuth.remote.secrets import Mask
from sleuth.web.http import BrokenConnectionError, address_parts, request, resolve

MAX_RESULTS = 20
"""Maximum number of results of one request: the limit of Tavily and Brave."""
MAX_QUERY = 400
"""Maximum number of characters of a query: the limit of Tavily and Brave."""
MAX_WORDS = 50
"""Maximum number of words of a query: the limit of Brave."""
LEAST_TEXT = 100
"""Characters that the text of a query may have, however many domains it names."""

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
        score: relevance by the service, higher is better; 1 / rank where the service only ranks.
        published: date as the service wrote it, or None.
    """

    url: str
    title: str
    content: str
    domain: str
    score: float = 0.0
    published: str | None = None


@dataclass(frozen=True, slots=True)
class WebQuery:
    """What one request asks of a service. A service that lacks a setting ignores it.

    Attributes:
        count: results, 1 to `MAX_RESULTS`.
        depth: "basic", or "advanced" for a slower and better search.
        topic: "general", "news" or "finance".
        time_range: "day", "week", "month" or "year"; None for any time.
        include_domains, exclude_domains: only, or no, pages of these domains.
    """

    text: str
    count: int
    depth: str = "basic"
    topic: str = "general"
    time_range: str | None = None
    include_domains: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()


class WebService(Protocol):
    """A service that searches the web.

    Attributes:
        label: name and address of the service, under which answers are cached. It holds no key.
    """

    @property
    def label(self) -> str: ...

    def search(self, query: WebQuery, deadline: Deadline) -> Sequence[Hit]:
        """Return hits for a query, unique by url, best first.

        Raises:
            WebError: the service refused or did not answer.
        """


class MissingKeyError(WebError):
    """No key or address of a service is known."""


class WebCall(NamedTuple):
    """An HTTP request.

    Attributes:
        path: below the address of the service, with the query string.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


class WebEntry(NamedTuple):
    """A result as the service sent it; any JSON value may stand in any place."""

    url: Any
    title: Any
    content: Any
    score: Any
    published: Any


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


def shorten(query: str, spare: int = 0) -> str:
    """Cut a query to the limits of the services, between words if possible.

    Args:
        spare: characters to leave free for operators; `LEAST_TEXT` are never cut.
    """
    words = query.split()
    query = " ".join(words[:MAX_WORDS]) if len(words) > MAX_WORDS else query
    limit = max(LEAST_TEXT, MAX_QUERY - spare)
    if len(query) <= limit:
        return query
    head = query[: limit + 1].rpartition(" ")[0]
    return head.strip() or query[:limit]


@dataclass(frozen=True, slots=True)
class WebApi:
    """How a service is reached, what it is sent, and what it answers.

    Attributes:
        name: what users call it.
        base_name: environment variable of the address.
        where: where people get a key, or what they have to set up.
        call: returns the request for a query with a key; the key is "" where the service has none.
        entry: returns the fields of one result.
        entries: returns the list of results in an answer, or another value if the list is missing; most services call
            it `results`.
        key_name: environment variable of the key; "" for a service without keys.
        public_base: the address where no other is named; "" for a service that people run themselves.
    """

    name: str
    base_name: str
    where: str
    call: Callable[[WebQuery, str], WebCall]
    entry: Callable[[Mapping[str, Any]], WebEntry]
    entries: Callable[[Mapping[str, Any]], Any] = methodcaller("get", "results")
    key_name: str = ""
    public_base: str = ""


@dataclass(frozen=True, slots=True)
class RemoteService:
    """A service over HTTP. Its repr and its errors never hold the key.

    Attributes:
        api: what it is.
        key: "" for a service without keys.
        base_url: its address.
        max_retries: how often a request is sent again.
        initial_backoff: seconds before the first retry, doubled with each; None for `BACKOFF`.
    """

    api: WebApi
    key: str = field(repr=False)
    base_url: str
    max_retries: int = RETRIES
    initial_backoff: float | None = None

    @property
    def label(self) -> str:
        """Name and address."""
        return f"{self.api.name} {self.base_url}"

    def search(self, query: WebQuery, deadline: Deadline) -> list[Hit]:
        """Return the hits for one query, in the service's order. 429, 5xx and broken connections are retried.

        Raises:
            WebError: the service refused or did not answer; `status` says how.
        """
        call = self.api.call(query, self.key)
        try:
            hits = retry.call(
                lambda deadline: self._attempt(call, deadline),
                again=_again,
                retries=self.max_retries,
                base=BACKOFF if self.initial_backoff is None else self.initial_backoff,
                deadline=deadline,
                endpoint=endpoint_at(self.base_url),
            )
        except TurnError as error:
            late = str(error)
        else:
            included, excluded = (
                [domain.lower().removeprefix("www.") for domain in domains]
                for domains in (query.include_domains, query.exclude_domains)
            )
            # Not every service filters by domains.
            return [
                hit
                for hit in hits
                if (not included or _lies_in(hit.domain, included)) and not _lies_in(hit.domain, excluded)
            ]
        raise WebError(f"{self.api.name}: {late}", service=self.api.name, url=self.base_url, status=429)

    def _attempt(self, call: WebCall, deadline: Deadline) -> list[Hit]:
        url = f"{self.base_url.rstrip('/')}/{call.path}"
        parts = address_parts(url)
        attempt_deadline = deadline.within(ATTEMPT_TIMEOUT)
        addresses = resolve(parts.hostname or "", port_of(parts), attempt_deadline)
        answer = request(
            call.method, url, addresses, deadline=attempt_deadline, body=call.body, max_bytes=MAX_BYTES,
            headers={"Accept": "application/json", **call.headers},
        )  # fmt: skip
        if answer.status != 200:
            raise self._refusal(answer)
        return self.read_hits(answer.body)

    def _refusal(self, answer: Response) -> WebError:
        value = _parse(answer.body)
        for _ in range(3):  # the text under one of these names, up to three objects deep
            if isinstance(value, dict):
                value = next(
                    (value[name] for name in ("error", "detail", "message") if value.get(name)), None
                )
        detail = Mask([self.key]).hide(clean(value) if isinstance(value, str) else "")[:300]
        message = f"{self.api.name} answered {answer.status}"
        message = f"{message}: {detail}" if detail else message
        wait = retry.retry_after(answer.headers.get("Retry-After"))
        message += "" if wait is None else f"; {retry.advice(wait)}"
        failure = WebError(message, service=self.api.name, url=self.base_url, status=answer.status)
        failure.after = wait
        return failure

    def read_hits(self, body: bytes) -> list[Hit]:
        """Parse the hits of an answer, unique by url; entries without a url or a text are dropped.

        Raises:
            WebError: the body is not what the service documents.
        """
        answer = _parse(body)
        results = self.api.entries(answer) if isinstance(answer, dict) else None
        if not isinstance(results, list):
            problem = f'{self.api.name} answered 200 without a JSON list of "results"'
            raise WebError(problem, service=self.api.name, url=self.base_url, status=200)
        hits: dict[str, Hit] = {}
        for result in results:
            hit = _hit(self.api.entry(result), len(hits) + 1) if isinstance(result, dict) else None
            if hit is not None:
                hits.setdefault(hit.url, hit)
        return list(hits.values())


def _lies_in(host: str, domains: Sequence[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _again(error: Exception) -> retry.Again | None:
    if isinstance(error, BrokenConnectionError):
        return retry.Again()
    if isinstance(error, WebError) and error.status is not None:
        return retry.again_after(error.status, error.after)
    return None


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _hit(entry: WebEntry, rank: int) -> Hit | None:
    if not isinstance(entry.url, str) or not isinstance(entry.content, str) or not domain_of(entry.url):
        return None
    text = clean(entry.content)
    if not text:
        return None
    is_number = isinstance(entry.score, (int, float)) and not isinstance(entry.score, bool)
    is_score = is_number and abs(entry.score) < 1e9  # neither NaN nor infinity
    return Hit(
        url=entry.url.strip(),
        title=clean(entry.title) if isinstance(entry.title, str) else "",
        content=text,
        domain=domain_of(entry.url.strip()),
        score=float(entry.score) if is_score else 1 / rank,
        published=entry.published if isinstance(entry.published, str) and entry.published else None,
    )
