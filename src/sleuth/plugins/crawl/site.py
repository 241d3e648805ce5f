"""Visits the pages of a web site within bounds, and asks again only for pages that changed.

Each request is one of `fetch`: to public addresses, as the site's `robots.txt` allows. A redirect counts as a link, so
its target is checked in the same way.
"""

from __future__ import annotations

import re
import time
import zlib
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from html import unescape
from typing import Literal
from urllib.parse import SplitResult, urldefrag, urljoin, urlsplit

from sleuth.errors import ArgumentError, WebError
from sleuth.remote import Deadline, Response, check_cancelled, retry_after
from sleuth.web import (
    AGENT,
    REDIRECTS,
    FetchRules,
    address_parts,
    content_headers,
    crawl_delay,
    decoded,
    fetch_once,
    networks_of,
    redirect_target,
)

Outcome = Literal["changed", "unchanged", "gone", "skipped"]

KINDS: Mapping[str, str] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "application/pdf": "pdf",
}
"""Types of pages that are read, with the kind of a file of that type."""

MOST_ADDRESSES = 200_000
"""Addresses that one crawl remembers; further links are ignored."""
MOST_XML = 50_000_000
"""Bytes of an unpacked sitemap: the limit of its protocol."""
PAGE_SECONDS, PAGE_BYTES = 20.0, 5_000_000
"""Limits of one request."""
MOST_WAIT = 60.0
"""Seconds to wait at most because a site asks for it."""
_NO_PAGES = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|ico|css|js|json|xml|zip|t?gz|bz2|xz|exe|dmg|iso|mp[34]|webm|woff2?|ttf|whl)$",
    re.I,
)
"""Ends of paths behind which no page is expected."""
_LOCATION = re.compile(rb"<loc>\s*+(?>(?:<!\[CDATA\[)?)\s*+([^<\]\s]{1,2000})")
_CONDITIONAL = {"etag": "If-None-Match", "modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """The bounds of one crawl; whatever comes first ends it, and the next crawl goes on there.

    Attributes:
        pages: requests, without those for `robots.txt`.
        max_bytes: of all answers together; the last one may exceed it. A page may have 5 MB.
        seconds: for the whole crawl.
        delay: seconds between requests; a longer `Crawl-delay` of `robots.txt` is obeyed, up to a minute.
        hosts: further hosts whose pages are visited; by default that of the start alone.
        allow_networks: networks such as "10.1.0.0/16" that may be visited although they are not public.
    """

    pages: int = 1000
    max_bytes: int = 200_000_000
    seconds: float = 3600.0  # 1,000 pages at this delay take 500, plus their answers
    delay: float = 0.5
    hosts: tuple[str, ...] = ()
    allow_networks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("pages", "max_bytes", "seconds"):
            if not getattr(self, name) > 0:  # so that NaN is refused too
                raise ArgumentError(f"{name} must be above 0, got {getattr(self, name)!r}")
        if not self.delay >= 0:
            raise ArgumentError(f"delay must be 0 seconds or more, got {self.delay!r}")
        networks_of(self.allow_networks)  # raises for a network that cannot be read


@dataclass(frozen=True, slots=True)
class PageRecord:
    """What is remembered of a page between crawls.

    Attributes:
        etag, modified: what the server said about its version; "" if nothing.
        links: addresses on the page that a crawl may follow.
        is_stored: whether the page may be a document.
        version: what the server said, else a hash of the page.
    """

    url: str
    etag: str = ""
    modified: str = ""
    links: tuple[str, ...] = ()
    is_stored: bool = False
    version: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """The result of one request.

    Attributes:
        outcome: "gone" is a page that must not be found any more; "skipped" one that says nothing about its document.
        record: to remember; None for an address that has to be asked again.
        body: of a changed page, as a file of the kind `kind` holds it.
        reason: why a page is gone or skipped.
    """

    url: str
    outcome: Outcome
    record: PageRecord | None = None
    body: bytes = b""
    kind: str = ""
    reason: str = ""


@dataclass
class Crawl:
    """One crawl from a start; iterate over it once.

    Attributes:
        start: a page, whose links are followed, or a sitemap, whose pages are visited.
        records: what is remembered, by address.
        visited: addresses that an earlier part of this crawl asked; their links are followed without a request.
        pages, size: requests and bytes so far.
        is_complete: whether no address is left.
    """

    start: str
    limits: CrawlLimits
    records: Mapping[str, PageRecord] = field(default_factory=dict)
    visited: Collection[str] = ()
    pages: int = 0
    size: int = 0
    is_complete: bool = False

    def __post_init__(self) -> None:
        self.start = urldefrag(self.start).url
        self._netlocs = {address_parts(self.start).netloc}
        self._hosts = {host.lower() for host in self.limits.hosts}
        self._addresses: set[str] = set()
        self._waiting: deque[str] = deque()
        self._again: set[str] = set()
        self._delay, self._asked_at = self.limits.delay, 0.0
        self._networks = networks_of(self.limits.allow_networks)
        self._from_sitemap = False
        self._add(self.start)

    def __iter__(self) -> Iterator[Visit]:
        deadline = Deadline(self.limits.seconds)
        while self._waiting:
            check_cancelled()
            url = self._waiting.popleft()
            if url in self.visited and url in self.records:
                self._follow(self.records[url].links)
                continue
            limits = self.limits
            is_spent = self.pages >= limits.pages or self.size >= limits.max_bytes
            if is_spent or deadline.remaining() <= self._delay:
                return
            visit = self._visit(url, deadline)
            if visit is None:
                continue
            if url == self.start and visit.reason and url not in self.records:
                raise WebError(visit.reason, service="crawl", url=url)
            yield visit
        self.is_complete = True

    @property
    def waiting(self) -> int:
        """How many addresses are known and not asked."""
        return len(self._waiting)

    def _visit(self, url: str, deadline: Deadline) -> Visit | None:
        """Ask for a page; None for an address that is no page, whose links were added, or that is asked again."""
        record = self.records.get(url, PageRecord(url))
        try:
            answer = self._request(url, record, deadline)
        except WebError as error:
            return Visit(url, "skipped", reason=str(error))
        self.size += len(answer.body)
        if answer.status == 304:
            self._follow(record.links)
            return Visit(url, "unchanged", record)
        if answer.status in REDIRECTS:
            return self._redirect(url, answer, record)
        if answer.status in (429, 503) and url not in self._again:
            self._again.add(url)
            self._waiting.append(url)
            pause = retry_after(answer.headers.get("Retry-After")) or 5.0  # ten times the usual delay
            self._delay = min(max(self._delay, pause), MOST_WAIT)
            return None
        if answer.status != 200:
            outcome: Outcome = "gone" if answer.status in (404, 410) else "skipped"
            empty_record = PageRecord(url) if outcome == "gone" else None
            return Visit(url, outcome, empty_record, reason=f"{url} answered {answer.status}")
        sitemap = _sitemap_of(answer.body)
        self._from_sitemap = self._from_sitemap or (sitemap is not None and url == self.start)
        for location in _LOCATION.findall(sitemap or b""):
            self._add(unescape(location.decode("utf-8", "replace")), is_sitemap=True)
        return self._page(url, answer) if sitemap is None else None

    def _request(self, url: str, record: PageRecord, deadline: Deadline) -> Response:
        pause = min(max(self._delay, crawl_delay(url, AGENT)), MOST_WAIT)
        wait = self._asked_at + pause - time.monotonic()
        if self.pages and wait > 0:
            deadline.sleep(wait)
        self.pages += 1
        self._asked_at = time.monotonic()
        rules = FetchRules(deadline.within(PAGE_SECONDS), PAGE_BYTES, self._networks)
        validators = {
            header: getattr(record, name) for name, header in _CONDITIONAL.items() if getattr(record, name)
        }
        return fetch_once(url, rules, {"Accept": "*/*", **validators})

    def _redirect(self, url: str, answer: Response, record: PageRecord) -> Visit | None:
        """Queue the target of a redirect; return a visit that deletes the page if it was stored, else None."""
        target = redirect_target(url, answer.headers.get("Location") or "")
        parts = _parts(target or "")
        if target and parts and url == self.start:
            self._netlocs.add(parts.netloc)  # such as from example.org to www.example.org
        if target:
            self._add(target, at_head=True)  # visited next, in place of this page
        if record.is_stored:
            return Visit(url, "gone", PageRecord(url), reason=f"{url} redirects to another address")
        return None

    def _page(self, url: str, answer: Response) -> Visit:
        headers = content_headers(answer)
        kind = KINDS.get(headers.get_content_type())
        if kind is None:
            return Visit(url, "skipped", reason=f"{url} is of type {headers.get_content_type()!r}")
        if headers.get("Content-Encoding", "identity") != "identity":
            return Visit(url, "skipped", reason=f"{url} is in the encoding {headers['Content-Encoding']!r}")
        body = answer.body
        links: tuple[str, ...] = ()
        wishes: frozenset[str] = frozenset()
        if kind != "pdf" and headers.get_content_charset():
            body = b"\xef\xbb\xbf" + decoded(headers, body).encode()
        if kind == "html":
            links, wishes = _links_of(url, decoded(headers, answer.body))
            links = () if self._from_sitemap or "nofollow" in wishes else links
        links = tuple(link for link in links if self._is_allowed(link))
        self._follow(links)
        etag, modified = (answer.headers.get(name) or "" for name in ("ETag", "Last-Modified"))
        is_stored = "noindex" not in wishes
        version = etag[:1000] or modified[:100] or blake2b(body, digest_size=16).hexdigest()
        record = PageRecord(url, etag[:1000], modified[:100], links, is_stored, version)
        if not is_stored:
            return Visit(url, "gone", record, reason=f"{url} asks not to be indexed")
        return Visit(url, "changed", record, body, kind)

    def _follow(self, links: Collection[str]) -> None:
        for link in links:
            self._add(link)

    def _add(self, url: str, *, at_head: bool = False, is_sitemap: bool = False) -> None:
        """Queue an address that is allowed and new. In a sitemap, addresses of further sitemaps end in `.xml`."""
        url = urldefrag(url).url
        is_new = url not in self._addresses and len(self._addresses) < MOST_ADDRESSES
        if is_new and self._is_allowed(url, is_any_kind=is_sitemap or url == self.start):
            self._addresses.add(url)
            if at_head:
                self._waiting.appendleft(url)
            else:
                self._waiting.append(url)

    def _is_allowed(self, url: str, *, is_any_kind: bool = False) -> bool:
        parts = _parts(url)
        if parts is None or len(url) > 2000 or parts.username is not None:
            return False
        is_here = parts.netloc in self._netlocs or (parts.hostname or "") in self._hosts
        return is_here and (is_any_kind or not _NO_PAGES.search(parts.path))


def _parts(url: str) -> SplitResult | None:
    """Return the parts of an address of the web; None for anything else."""
    try:
        return address_parts(url) if urlsplit(url).scheme in ("http", "https") else None
    except (ValueError, WebError):
        return None


def _sitemap_of(body: bytes) -> bytes | None:
    """Return the XML of a sitemap, unpacked; None for another kind of answer."""
    if body.startswith(b"\x1f\x8b"):
        try:
            body = zlib.decompressobj(31).decompress(body, MOST_XML)
        except zlib.error:
            return None
    head = body[:1000]
    return body if b"<urlset" in head or b"<sitemapindex" in head else None


def _links_of(url: str, text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the addresses that a page links to, and what it asks of robots: "noindex", "nofollow"."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(text)
    wishes = {
        word
        for node in tree.css("meta[name]")
        if (node.attributes.get("name") or "").lower() in ("robots", AGENT.lower())
        for word in re.split(r"[\s,]+", (node.attributes.get("content") or "").lower())
    }
    if "none" in wishes:
        wishes |= {"noindex", "nofollow"}
    base = next((node.attributes.get("href") for node in tree.css("base[href]")), None) or ""
    home = redirect_target(url, base) or url
    links: dict[str, None] = {}
    for node in tree.css("a[href]"):
        if "nofollow" not in (node.attributes.get("rel") or "").lower():
            try:
                links[urldefrag(urljoin(home, (node.attributes.get("href") or "").strip())).url] = None
            except ValueError:
                continue
    return tuple(links), frozenset(wishes)
