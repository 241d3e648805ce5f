"""Fetches the page behind a hit and extracts its text.

Pages are fetched from public addresses only. For the first request and for each redirect, the host is resolved
once, every address is checked, and the connection goes to a checked address. So neither DNS rebinding nor a
redirect to an internal host reaches a private machine. Proxies are not used, because the addresses that a proxy
connects to cannot be checked.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import urldefrag, urljoin

from sleuth.arguments import check_kind, check_positive, check_strings
from sleuth.errors import ArgumentError, WebError, requires
from sleuth.remote import Deadline, Response, async_twin, port_of, shown_url
from sleuth.remote.exchange import USER_AGENT
from sleuth.remote.hosts import Network, refused_address
from sleuth.remote.secrets import Mask
from sleuth.web import robots
from sleuth.web.http import address_parts, request, resolve

MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
AGENT = USER_AGENT.partition("/")[0]
_ACCEPT = {"Accept": "text/html,application/xhtml+xml,text/plain;q=0.9"}
_HTML = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a web page.

    Attributes:
        url: where it was found, after redirects.
        title: "" if the page has no title.
        text: what a reader would read, without menus, banners and scripts.
        published: date that the page states, YYYY-MM-DD, or None.
        content_type: as the server said, without parameters.
    """

    url: str
    title: str
    text: str
    published: str | None
    content_type: str

    def __repr__(self) -> str:
        return (
            f"Page({shown_url(self.url)}, {self.title!r}, {len(self.text):,} characters, {self.content_type})"
        )


@dataclass(frozen=True, slots=True)
class FetchRules:
    """What one fetch may do.

    Attributes:
        networks: those that may be fetched from although they are not public.
        cut: whether of an answer above `max_bytes` its begin is read, instead of none.
    """

    deadline: Deadline
    max_bytes: int
    networks: tuple[Network, ...]
    obey_robots: bool = True
    cut: bool = False


def fetch_page(
    url: str,
    *,
    timeout: float = 10.0,  # a reader waits for the page
    max_bytes: int = 5_000_000,
    obey_robots: bool = True,
    allow_networks: Sequence[str] = (),
) -> Page:
    """Return the readable text of a web page.

    Args:
        timeout: seconds for the whole call, with redirects and `robots.txt`.
        max_bytes: the size limit of the page as sent; a larger one is refused.
        obey_robots: whether to fetch and obey the site's `robots.txt`.
        allow_networks: networks such as "10.1.0.0/16" that may be fetched from although they are not public.

    Raises:
        WebError: an address that is refused, a page that robots may not fetch, an error status, another
            type than HTML or plain text, or no answer in time.
        MissingPackageError: the extra `html` is not installed.
    """
    check_kind(url, str, "url", "a string")
    check_positive(timeout, "timeout")
    rules = FetchRules(Deadline(timeout), max_bytes, networks_of(allow_networks), obey_robots)
    address, answer = _follow(url, rules)
    return _read(address, answer)


afetch_page = async_twin(fetch_page)


def networks_of(names: Sequence[str]) -> tuple[Network, ...]:
    """Return networks by names such as "10.1.0.0/16".

    Raises:
        ArgumentError: a name that is no network.
    """
    check_strings(names, "allow_networks")
    try:
        return tuple(ipaddress.ip_network(name) for name in names)
    except ValueError as error:
        raise ArgumentError(f"allow_networks must be networks such as 10.1.0.0/16: {error}") from error


def _follow(url: str, rules: FetchRules) -> tuple[str, Response]:
    """Return the first answer that is not a redirect, and the address that gave it."""
    for _ in range(MAX_REDIRECTS + 1):
        url = urldefrag(url).url
        answer = fetch_once(url, rules)
        if answer.status not in REDIRECTS:
            return url, answer
        location = answer.headers.get("Location")
        if not location:
            raise _failure(url, "redirects to nowhere", answer.status)
        target = redirect_target(url, location)
        if target is None:
            raise _failure(url, f"redirects to {shown_url(location)!r}, which is no address")
        url = target
    raise _failure(url, f"is the last of more than {MAX_REDIRECTS} redirects")


def fetch_once(url: str, rules: FetchRules, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to one request, also a redirect, after the address and `robots.txt` were checked.

    Args:
        url: without a fragment.
        headers: sent in addition.

    Raises:
        WebError: an address that is refused, a page that robots may not fetch, or no answer.
    """
    parts = address_parts(url)
    host = parts.hostname or ""
    addresses = resolve(host, port_of(parts), rules.deadline)
    if (refused := refused_address(addresses, rules.networks)) is not None:
        raise WebError(f"host {host!r} is refused: {refused} is not a public address", service="fetch")

    def fetch_robots(site: str) -> tuple[int, bytes]:
        """Fetch a site's `robots.txt`, following a few redirects."""
        site_rules = FetchRules(rules.deadline, robots.MAX_BYTES, rules.networks, obey_robots=False, cut=True)
        _, answer = _follow(site, site_rules)
        return answer.status, answer.body

    if rules.obey_robots and not robots.allowed(url, AGENT, fetch_robots):
        raise _failure(url, "may not be fetched by the robots.txt of its site")
    return request(
        "GET",
        url,
        addresses,
        deadline=rules.deadline,
        headers={**_ACCEPT, **(headers or {})},
        max_bytes=rules.max_bytes,
        cut=rules.cut,
    )


def _failure(url: str, what: str, status: int | None = None) -> WebError:
    safe_url = shown_url(url)
    return WebError(f"{safe_url} {Mask.of_url(url).hide(what)}", service="fetch", url=safe_url, status=status)


def redirect_target(url: str, location: str) -> str | None:
    """Return the target of a redirect, or None if it is invalid. urllib's error would repeat the URL."""
    try:
        return urljoin(url, location)
    except ValueError:
        return None


def _read(url: str, answer: Response) -> Page:
    headers = content_headers(answer)
    kind = headers.get_content_type()
    if answer.status != 200:
        raise _failure(url, f"answered {answer.status}", answer.status)
    if headers.get("Content-Encoding", "identity") != "identity":
        raise _failure(url, f"answered in the encoding {headers['Content-Encoding']!r}, not asked for")
    if kind == "text/plain":
        return Page(url, "", decoded(headers, answer.body).strip(), None, kind)
    if kind not in _HTML:
        raise _failure(url, f"is of type {kind!r}, not HTML or plain text")
    with requires("trafilatura", "html", "reading web pages"):
        import trafilatura
    # The charset of the header comes before that of the page, and both before a guess.
    source: str | bytes = decoded(headers, answer.body)
    if headers.get_content_charset() is None or "\ufffd" in source:
        source = answer.body
    extract: Any = trafilatura.bare_extraction(source, url=url, include_comments=False, with_metadata=True)
    if extract is None or not extract.text:
        raise _failure(url, "holds no readable text")
    return Page(url, extract.title or "", extract.text, extract.date, kind)


def content_headers(answer: Response) -> Message:
    """Return the headers that say what the body of an answer is."""
    headers = Message()
    for name in ("Content-Type", "Content-Encoding"):
        if name in answer.headers:
            headers[name] = "".join(filter(str.isprintable, answer.headers[name]))
    return headers


def decoded(headers: Message, body: bytes) -> str:
    """Return the text of a body by the charset of its headers, without a byte order mark."""
    try:
        text = body.decode(headers.get_content_charset("utf-8"), errors="replace")
    except (LookupError, UnicodeError):  # unknown, or not an encoding of text
        text = body.decode("utf-8", errors="replace")
    return text.removeprefix("\ufeff")
