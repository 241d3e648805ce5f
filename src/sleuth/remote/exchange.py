"""Makes one HTTP request, to resolved addresses, within one deadline: its head, its body and TLS."""

from __future__ import annotations

import ssl
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpcore
import httpx

from sleuth.remote.address import port_of
from sleuth.remote.answer import (
    Answer,
    BrokenError,
    CertificateError,
    LargeError,
    LateError,
    UnreachableError,
)
from sleuth.remote.cancellation import Deadline
from sleuth.remote.connections import Channel, NotConnectedError, Peer, channel_to
from sleuth.remote.hosts import Address, Proxy, proxy_for, resolve
from sleuth.remote.secrets import Mask

T = TypeVar("T")

USER_AGENT = "sleuth/0.1 (retrieval library)"
_LAST_PIECE = 0.05
"""Seconds for the end of a body of which the caller read what it needs, so that the connection can be kept."""
_FAILURES = (OSError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.ProxyError,
             httpx.InvalidURL)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer.

    Attributes:
        headers: names in any case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class Exchange(Answer):
    """One request, sent by the constructor, and its answer. A redirect is an answer.

    Close it, or use it in a `with` block. A GET that breaks on a kept connection, which its server may have ended
    just then, is sent again; nothing else is, because it may have begun.

    Args:
        addresses: of the URL's host, or of the proxy.
        headers: of the request; keys in them are hidden in the answer.
        context: verifies certificates.

    Attributes:
        status: of HTTP.
        headers: names in any case.

    Raises:
        BrokenError: no answer; `UnreachableError` if nothing was sent, `LateError` if the deadline passed.
        CertificateError: the certificate is invalid.
    """

    def __init__(
        self,
        method: str,
        url: str,
        addresses: Sequence[Address],
        *,
        deadline: Deadline,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        proxy: Proxy | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        all_headers = httpx.Headers({"User-Agent": USER_AGENT, "Accept-Encoding": "identity"})
        all_headers.update(headers or {})
        self._deadline = deadline
        self.mask = Mask.of_headers(all_headers)
        self._connection: Channel | None = None
        request = self._step(lambda: httpx.Request(method, url, headers=all_headers, content=body))
        parts = request.url
        target = httpcore.URL(
            scheme=parts.raw_scheme, host=parts.raw_host, port=parts.port, target=parts.raw_path
        )
        peer = Peer(parts.scheme, parts.host, parts.port, proxy, context or tls_context())
        while True:
            connection = self._connection = channel_to(peer, addresses)
            connection.lend(addresses, deadline, self.mask)
            message = httpcore.Request(method, target, headers=request.headers.raw, content=request.stream)
            try:
                self._answer = self._step(partial(connection.send, message))
            except BrokenError:
                if method != "GET" or connection.is_new or deadline.passed():
                    raise
            else:
                break
        self.status = self._answer.status
        self.headers = httpx.Headers(self._answer.headers)
        self._body = self._answer.iter_stream()

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            BrokenError: it ended too early, or did not end by the deadline.
        """
        while (piece := self._step(lambda: next(self._body, None))) is not None:
            yield piece

    def read(self, max_bytes: int, *, cut: bool = False) -> Response:
        """Read the whole answer, or the first `max_bytes` of a larger one that may be cut.

        Raises:
            LargeError: its body is larger than `max_bytes`.
            BrokenError: it is incomplete.
        """
        announced = self.headers.get("Content-Length", "")
        body = bytearray()
        is_larger = announced.isascii() and announced.isdigit() and int(announced) > max_bytes
        for piece in () if is_larger and not cut else self.pieces():
            body += piece
            if is_larger := len(body) > max_bytes:
                break
        if is_larger and not cut:
            raise LargeError(f"answer is larger than {max_bytes} bytes")
        return Response(self.status, self.headers, bytes(body[:max_bytes]))

    def renew(self) -> None:
        """Restart the deadline, for streams whose silence it bounds."""
        self._deadline.renew()

    def close(self) -> None:
        """End the call, and the connection unless the body is at its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.deadline = self._deadline.within(_LAST_PIECE)
            with suppress(*_FAILURES):
                deque(islice(self._body, 2), maxlen=0)  # a last piece, and the end
            self._answer.close()
            connection.give_back()

    def _step(self, step: Callable[[], T]) -> T:
        """Return what a step returns. Failures are raised without their chain, which repeats the server's text."""
        try:
            return step()
        except _FAILURES as error:
            text = self.mask.hide("".join(filter(str.isprintable, str(error))))[:200] or type(error).__name__
            failure: Exception = BrokenError(text)
            if isinstance(error, ssl.SSLCertVerificationError):
                failure = CertificateError(error.verify_message)
            elif isinstance(error, (TimeoutError, httpcore.TimeoutException)) or self._deadline.passed():
                failure = LateError("timed out")
            elif isinstance(error, (NotConnectedError, httpcore.ConnectError, httpcore.ProxyError)):
                failure = UnreachableError(text)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        raise failure


def request(
    method: str, url: str, addresses: Sequence[Address], *, max_bytes: int, cut: bool = False, **options: Any
) -> Response:
    """Send one request and return its whole answer; `Exchange` documents the options and errors."""
    with Exchange(method, url, addresses, **options) as exchange:
        return exchange.read(max_bytes, cut=cut)


def exchange_with_host(method: str, url: str, *, deadline: Deadline, **options: Any) -> Exchange:
    """Send one request to the host of a URL, or to the proxy that the environment names for it.

    `Exchange` documents the options and errors.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", port_of(parts)
    proxy = proxy_for(parts.scheme, host)
    addresses = resolve(host, port, deadline) if proxy is None else resolve(proxy.host, proxy.port, deadline)
    return Exchange(method, url, addresses, deadline=deadline, proxy=proxy, **options)


@cache
def tls_context(bundle: str | None = None) -> ssl.SSLContext:
    """Return a TLS context with the system's certificates, or with those of a file or folder."""
    if bundle is None:
        return ssl.create_default_context()
    from pathlib import Path

    is_folder = Path(bundle).is_dir()
    return ssl.create_default_context(
        cafile=None if is_folder else bundle, capath=bundle if is_folder else None
    )
