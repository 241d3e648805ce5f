"""Makes one HTTP request through httpx, to resolved addresses, within one deadline.

Each connection goes to an address that the caller resolved, and checked where that matters, so DNS rebinding has no
effect. Every read and write is limited to the time left, so a server that sends a byte now and then cannot outlast the
deadline, neither in the head nor in the body. Cancelling the call closes the connection.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import httpcore
import httpx

from sleuth.remote.answer import Answer
from sleuth.remote.deadline import Deadline
from sleuth.remote.failures import BrokenError, CertificateError, LargeError, LateError, UnreachableError
from sleuth.remote.hosts import Address
from sleuth.remote.proxies import Proxy
from sleuth.remote.secrets import Mask

T = TypeVar("T")

USER_AGENT = "sleuth/0.1 (retrieval library)"
CONNECT_TIMEOUT = 5.0
"""Seconds for one address, before the next is tried."""
_LONGEST = 3600.0
_FAILURES = (OSError, httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, httpcore.ProxyError,
             httpx.InvalidURL, httpx.StreamError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Response:
    """A complete answer.

    Attributes:
        headers: names in any case.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class _NotConnectedError(OSError):
    """No address accepted a connection."""


class _Stream(httpcore.NetworkStream):
    """A connection whose steps end at the deadline, and that hides our secrets in received bytes."""

    def __init__(self, sock: socket.socket, deadline: Deadline, mask: Mask) -> None:
        self._sock = sock
        self._deadline = deadline
        self._mask = mask
        self._forget = deadline.cancellation.register(self._shut)

    def _shut(self) -> None:
        """End the connection from another thread, so that a blocked read returns."""
        try:
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)
        except OSError:
            return  # it is closed already

    def _limit(self) -> None:
        remaining = self._deadline.remaining()
        if remaining == 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(remaining, _LONGEST))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._limit()
        return self._mask.hide_bytes(self._sock.recv(max_bytes))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._limit()
        self._sock.sendall(buffer)

    def close(self) -> None:
        self._forget()
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self._limit()
        self._forget()
        try:
            secure = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname)
        except BaseException:
            self._sock.close()
            raise
        return _Stream(secure, self._deadline, self._mask)

    def get_extra_info(self, info: str) -> Any:
        return self._sock if info == "socket" else None


class _Backend(httpcore.NetworkBackend):
    """Connects to the first of its addresses that accepts, whatever the host in the request."""

    def __init__(self, addresses: Sequence[Address], deadline: Deadline, mask: Mask) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._mask = mask

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failure: OSError = TimeoutError("timed out")
        for address in self._addresses:
            remaining = self._deadline.remaining()
            if remaining == 0:
                break
            try:
                sock = socket.create_connection((str(address), port), timeout=min(remaining, CONNECT_TIMEOUT))
            except OSError as error:
                failure = error
                continue
            # Head and body are sent without waiting for each other.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _Stream(sock, self._deadline, self._mask)
        raise failure if isinstance(failure, TimeoutError) else _NotConnectedError(str(failure))


class Transport(httpx.BaseTransport):
    """A transport of httpx for one request.

    Args:
        addresses: where to connect, in order of preference: of the host, or of the proxy.
        deadline: of the connection, the request and the whole answer.
        mask: hides secrets in what the server sends.
        context: verifies certificates.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        deadline: Deadline,
        mask: Mask,
        *,
        proxy: Proxy | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        backend, context = _Backend(addresses, deadline, mask), context or tls_context()
        self._pool: httpcore.ConnectionPool = (
            httpcore.ConnectionPool(context, network_backend=backend)
            if proxy is None
            else httpcore.HTTPProxy(proxy.url, proxy.auth, ssl_context=context, network_backend=backend)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return its answer with the body still unread."""
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        answer = self._pool.handle_request(
            httpcore.Request(request.method, target, headers=request.headers.raw, content=request.stream)
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer), request=request)

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class Exchange(Answer):
    """One request, sent by the constructor, and its answer. A redirect is an answer.

    Args:
        addresses: of the URL's host, or of the proxy.
        headers: of the request; keys in them are hidden in the answer.

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
        all_headers = httpx.Headers(
            {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", "Connection": "close"}
        )
        all_headers.update(headers or {})
        self._deadline = deadline
        self.mask = Mask.of_headers(all_headers)
        self._transport = Transport(addresses, deadline, self.mask, proxy=proxy, context=context)
        self._response = self._step(
            lambda: self._transport.handle_request(
                httpx.Request(method, url, headers=all_headers, content=body)
            )
        )
        self.status = self._response.status_code
        self.headers = self._response.headers

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            BrokenError: it ended too early, or did not end by the deadline.
        """
        stream = self._response.iter_raw()
        while (piece := self._step(lambda: next(stream, None))) is not None:
            yield piece

    def read(self, max_bytes: int) -> Response:
        """Read the whole answer.

        Raises:
            LargeError: its body is larger than `max_bytes`.
            BrokenError: it is incomplete.
        """
        announced = self.headers.get("Content-Length", "")
        body = bytearray()
        if announced.isascii() and announced.isdigit() and int(announced) > max_bytes:
            raise LargeError(f"answer is larger than {max_bytes} bytes")
        for piece in self.pieces():
            body += piece
            if len(body) > max_bytes:
                raise LargeError(f"answer is larger than {max_bytes} bytes")
        return Response(self.status, self.headers, bytes(body))

    def renew(self) -> None:
        """Restart the deadline."""
        self._deadline.renew()

    def close(self) -> None:
        """End the connection."""
        self._transport.close()

    def _step(self, step: Callable[[], T]) -> T:
        """Return what a step returns. Failures are raised without their chain, which repeats the server's text."""
        try:
            return step()
        except _FAILURES as error:
            failure = self._explained(error)
        self.close()
        raise failure

    def _explained(self, error: Exception) -> Exception:
        text = self.mask.hide("".join(filter(str.isprintable, str(error))))[:200] or type(error).__name__
        if isinstance(error, ssl.SSLCertVerificationError):
            return CertificateError(error.verify_message)
        if isinstance(error, (TimeoutError, httpcore.TimeoutException)) or self._deadline.passed():
            return LateError("timed out")
        if isinstance(error, (_NotConnectedError, httpcore.ConnectError, httpcore.ProxyError)):
            return UnreachableError(text)
        return BrokenError(text)


def request(
    method: str, url: str, addresses: Sequence[Address], *, max_bytes: int, **options: Any
) -> Response:
    """Send one request and return its whole answer; `Exchange` documents the options and errors."""
    with Exchange(method, url, addresses, **options) as exchange:
        return exchange.read(max_bytes)


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
