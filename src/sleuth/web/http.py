"""Sends the requests of the web search and of page fetches, and raises WebError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, quote

from sleuth.errors import WebError
from sleuth.remote import BrokenError, CertificateError, Deadline, LargeError, Response, hosts, shown_url
from sleuth.remote.address import split_url
from sleuth.remote.answer import LateError
from sleuth.remote.exchange import request as exchange
from sleuth.remote.hosts import Address
from sleuth.remote.secrets import Mask

_UNQUOTED = "/%:;,?&=+$!*'()~@#[]|"


class BrokenConnectionError(WebError):
    """No whole answer came: refused, reset, cut short or too late. A retry may succeed."""


def address_parts(url: str) -> SplitResult:
    """Split an http or https URL without credentials into its parts.

    Raises:
        WebError: another scheme, no host, a bad port, a user or a control character.
    """
    parts = split_url(url)
    if parts is None:
        raise WebError(f"url must be a valid http or https address, got {shown_url(url)!r}", service="fetch")
    is_refused = parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None
    if is_refused or any(ord(character) <= 32 or ord(character) == 127 for character in url):
        raise WebError(
            f"url must be an http or https address without credentials, got {shown_url(url)!r}",
            service="fetch",
        )
    try:
        host = (parts.hostname or "").encode("idna").decode()
    except UnicodeError:
        host = ""
    if not host:
        raise WebError(f"url must have a valid host, got {shown_url(url)!r}", service="fetch")
    host = f"[{host}]" if ":" in host else host
    host = f"{host}:{parts.port}" if parts.port else host
    return parts._replace(netloc=host, path=quote(parts.path, _UNQUOTED), query=quote(parts.query, _UNQUOTED))


def resolve(host: str, port: int, deadline: Deadline) -> list[Address]:
    """Return the addresses of `host`.

    Raises:
        WebError: the host is unknown, or the resolver did not answer in time.
    """
    try:
        return hosts.resolve(host, port, deadline)
    except BrokenError as error:
        failure = WebError(str(error), service="dns")
    raise failure


def request(
    method: str,
    url: str,
    addresses: Sequence[Address],
    *,
    deadline: Deadline,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    max_bytes: int,
    cut: bool = False,
) -> Response:
    """Send one request to one of these addresses and return its whole answer. Any status and redirect is an answer.

    Args:
        addresses: of the URL's host, in order of preference.
        max_bytes: the size limit of the body; a larger one is refused, or cut there if it may be `cut`.

    Raises:
        BrokenConnectionError: no whole answer.
        WebError: the answer is too large, or the certificate is invalid.
    """
    parts = address_parts(url)
    kind: type[WebError] = WebError
    try:
        options: dict[str, Any] = {"headers": headers, "body": body, "max_bytes": max_bytes, "cut": cut}
        return exchange(method, parts.geturl(), addresses, deadline=deadline, **options)
    except LateError:
        kind, problem = BrokenConnectionError, f"{parts.netloc} did not answer in time"
    except BrokenError as error:
        kind = BrokenConnectionError
        problem = f"{parts.netloc} did not answer: {Mask.of_url(url).hide(str(error))}"
    except CertificateError as error:
        problem = f"{parts.netloc} has no valid certificate: {error}"
    except LargeError as error:
        problem = str(error)
    raise kind(problem, service="http", url=shown_url(url))
