"""How is one HTTP request made that cannot outlast its deadline?

Every read gets what is left of the whole. The address is given by the caller, so that what was checked is
what is connected to.
"""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from functools import cache
from urllib.parse import SplitResult, quote, urlsplit

from sleuth.errors import WebError
from sleuth.remote.address import shown_url
from sleuth.remote.deadline import Deadline
from sleuth.remote.timed import TimedSocket
from sleuth.web.addresses import Address

USER_AGENT = "sleuth/0.1 (retrieval library)"
_KEPT = "/%:;,?&=+$!*'()~@#[]|"
CONNECT_TIMEOUT = 5.0
"""Seconds for one address; the next is tried then."""


class BrokenConnectionError(WebError):
    """No whole answer came: refused, reset, cut short or too late. Another try may do."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer, read to its end.

    Attributes:
        headers: names in any case.
    """

    status: int
    headers: Message
    body: bytes


def split(url: str) -> SplitResult:
    """The parts of an http or https URL without credentials.

    Raises:
        WebError: another scheme, no host, a bad port, a user or a control character.
    """
    parts = _parts(url)
    if parts is None:
        raise WebError(f"url must be a valid http or https address, got {shown_url(url)!r}", service="fetch")
    bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None
    if bad or any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise WebError(
            f"url must be an http or https address without credentials, got {shown_url(url)!r}",
            service="fetch",
        )
    host = _ascii_host(parts)
    if host is None:
        raise WebError(f"url must have a valid host, got {shown_url(url)!r}", service="fetch")
    return parts._replace(netloc=host, path=quote(parts.path, _KEPT), query=quote(parts.query, _KEPT))


def _parts(url: str) -> SplitResult | None:
    """The parts of a URL, or None; the error that urllib raises repeats what it was given."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _ascii_host(parts: SplitResult) -> str | None:
    """The host and port as they are sent, or None for a host that is no name."""
    try:
        host = (parts.hostname or "").encode("idna").decode()
    except UnicodeError:
        return None
    named = f"[{host}]" if ":" in host else host
    return f"{named}:{parts.port}" if parts.port else named


def port_of(parts: SplitResult) -> int:
    """The port of a URL, by its scheme where none is given."""
    return parts.port or (443 if parts.scheme == "https" else 80)


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _connect(addresses: Sequence[Address], port: int, deadline: Deadline) -> socket.socket:
    """A connection to the first address that accepts one."""
    failure: OSError = TimeoutError("timed out")
    for address in addresses:
        left = deadline.remaining()
        if left == 0:
            break
        try:
            sock = socket.create_connection((str(address), port), timeout=min(left, CONNECT_TIMEOUT))
        except OSError as error:
            failure = error
        else:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # head and body need not wait
            return sock
    raise failure


def _read(link: http.client.HTTPConnection, max_bytes: int) -> Response:
    """The answer on a connection. The library takes a body that ends early for a whole one: here it is
    not.
    """
    with link.getresponse() as answer:
        if answer.length is not None and answer.length > max_bytes:
            raise WebError(f"answer is larger than {max_bytes} bytes", service="http", status=answer.status)
        content = answer.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise WebError(f"answer is larger than {max_bytes} bytes", service="http", status=answer.status)
        if answer.length:
            raise http.client.IncompleteRead(content, answer.length)
        return Response(answer.status, answer.headers, content)


def request(
    method: str,
    url: str,
    addresses: Sequence[Address],
    *,
    deadline: Deadline,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    max_bytes: int,
) -> Response:
    """One request to one of these addresses, and its whole answer, whatever its status. Redirects are
    answers.

    Args:
        addresses: of the URL's host, in order of preference.
        max_bytes: of the body; a larger one is an error.

    Raises:
        BrokenConnectionError: no whole answer.
        WebError: an answer that is too large, or a certificate that does not hold.
    """
    parts = split(url)
    sock: socket.socket | None = None
    try:
        sock = _connect(addresses, port_of(parts), deadline)
        if parts.scheme == "https":
            sock.settimeout(min(deadline.remaining() or 0.001, 3600.0))
            sock = _tls().wrap_socket(sock, server_hostname=parts.hostname)
        link = http.client.HTTPConnection(parts.hostname or "", port_of(parts))
        link.sock = TimedSocket(sock, deadline)
        sent = {"Host": parts.netloc, "User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        link.request(method, target, body, {**sent, "Connection": "close", **(headers or {})})
        return _read(link, max_bytes)
    except ssl.SSLCertVerificationError as error:
        raise WebError(
            f"{parts.netloc} has no valid certificate: {error.verify_message}",
            service="http",
            url=shown_url(url),
        ) from error
    except TimeoutError as error:
        raise BrokenConnectionError(
            f"{parts.netloc} did not answer in time", service="http", url=shown_url(url)
        ) from error
    except (OSError, http.client.HTTPException) as error:
        told = "".join(filter(str.isprintable, str(error)))[:200] or type(error).__name__
        raise BrokenConnectionError(
            f"{parts.netloc} did not answer: {told}", service="http", url=shown_url(url)
        ) from error
    finally:
        if sock is not None:
            sock.close()
