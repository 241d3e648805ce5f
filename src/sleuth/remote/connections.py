"""Connections to services, kept for a few seconds after a call for the next one.

A connection serves one call at a time, which lends it a deadline, the mask of its keys and the addresses that it
resolved, and checked where that matters. A kept connection goes only to a call that resolved the address at its other
end again, so DNS rebinding has no effect. Every read and write is limited to the time left, so a server that sends a
byte now and then cannot outlast the deadline. Cancelling the call ends the connection.
"""

from __future__ import annotations

import atexit
import selectors
import socket
import ssl
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple

import httpcore

from sleuth import platform
from sleuth.remote.cancellation import Deadline
from sleuth.remote.hosts import Address, Proxy
from sleuth.remote.secrets import Mask
from sleuth.remote.threads import THREADS

CONNECT_TIMEOUT = 5.0
"""Seconds for one address, before the next is tried."""
IDLE_SECONDS = 4.0
"""How long a connection is kept: many servers end one after 5 s, and a request must not cross with that."""
MOST_IDLE = 32
"""Maximum number of kept connections; the oldest is closed first."""
_LONGEST = 3600.0
"""Maximum seconds of one read, since sockets take no infinite time."""


class NotConnectedError(OSError):
    """No address accepted a connection."""


class Peer(NamedTuple):
    """What a kept connection and a call must share.

    Attributes:
        port: None for the scheme's own.
        context: verifies the certificate.
    """

    scheme: str
    host: str
    port: int | None
    proxy: Proxy | None
    context: ssl.SSLContext


class Channel(httpcore.NetworkBackend):
    """A connection to a service, made by its first call; a later call makes another if the server has ended it.

    Attributes:
        address: at its other end.
        is_new: whether the current call made it.
    """

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.address: Address | None = None
        self.is_new = False
        self.idle_since = 0.0
        self._sock: socket.socket | None = None
        options: dict[str, Any] = {"keepalive_expiry": IDLE_SECONDS, "network_backend": self}
        proxy = peer.proxy
        self._pool: httpcore.ConnectionPool = (
            httpcore.ConnectionPool(peer.context, **options)
            if proxy is None
            else httpcore.HTTPProxy(proxy.url, proxy.auth, ssl_context=peer.context, **options)
        )

    def lend(self, addresses: Sequence[Address], deadline: Deadline, mask: Mask) -> None:
        """Begin a call.

        Args:
            addresses: of the host or of its proxy, in order of preference.
            mask: hides secrets in what the server sends.
        """
        self.addresses, self.deadline, self.mask, self.is_new = addresses, deadline, mask, False
        self._forget: Callable[[], None] = deadline.cancellation.register(self._shut)

    def send(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request and return its answer, with the body still unread."""
        return self._pool.handle_request(request)

    def give_back(self) -> None:
        """End a call whose answer was closed, and keep the connection if the answer was complete."""
        self._forget()
        if any(connection.is_idle() for connection in self._pool.connections):
            _keep(self)
        else:
            self._pool.close()

    def close(self) -> None:
        """End a call and the connection."""
        self._forget()
        self._pool.close()

    def _shut(self) -> None:
        """End the connection from another thread, so that a blocked read returns."""
        if self._sock is not None:
            with suppress(OSError):  # it is closed already
                socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first of the call's addresses that accepts, whatever the host in the request."""
        failure: OSError = TimeoutError("timed out")
        self.is_new = True
        for address in self.addresses:
            remaining = self.deadline.remaining()
            if remaining == 0:
                break
            try:
                sock = socket.create_connection((str(address), port), timeout=min(remaining, CONNECT_TIMEOUT))
            except OSError as error:
                failure = error
                continue
            # Head and body are sent without waiting for each other.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.address = address
            return self.stream(sock)
        raise failure if isinstance(failure, TimeoutError) else NotConnectedError(str(failure))

    def stream(self, sock: socket.socket) -> httpcore.NetworkStream:
        """Return the stream of a socket, which cancelling ends from now on."""
        self._sock = sock
        return _Stream(sock, self)


class _Stream(httpcore.NetworkStream):
    """A socket whose steps end at the deadline of the current call, and that hides the call's secrets."""

    def __init__(self, sock: socket.socket, owner: Channel) -> None:
        self._sock = sock
        self._owner = owner

    def _limit(self) -> None:
        remaining = self._owner.deadline.remaining()
        if remaining == 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(min(remaining, _LONGEST))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._limit()
        return self._owner.mask.hide_bytes(self._sock.recv(max_bytes))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._limit()
        try:
            self._sock.sendall(buffer)
        except ConnectionError as error:  # the server may have answered before it read the whole body
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        self._limit()
        try:
            secure = ssl_context.wrap_socket(
                self._sock, server_hostname=server_hostname, do_handshake_on_connect=False
            )
        except BaseException:
            self._sock.close()
            raise
        stream = self._owner.stream(secure)
        try:
            secure.do_handshake()
        except BaseException:
            secure.close()
            raise
        return stream

    def get_extra_info(self, info: str) -> Any:
        if info != "is_readable":
            return self._sock if info == "socket" else None
        with selectors.DefaultSelector() as selector:  # between two calls nothing but the end arrives
            selector.register(self._sock, selectors.EVENT_READ)
            return bool(selector.select(0))


_idle: list[Channel] = []
"""Kept connections, those of the latest calls last."""
_lock = Lock()
_is_watched = False


def channel_to(peer: Peer, addresses: Sequence[Address]) -> Channel:
    """Return the latest kept connection to one of these addresses of a service, or a new one; `lend` begins a call."""
    with _lock:
        for place in reversed(range(len(_idle))):
            if _idle[place].peer == peer and _idle[place].address in addresses:
                return _idle.pop(place)
    return Channel(peer)


def close_idle() -> None:
    """Close every kept connection."""
    with _lock:
        closing, _idle[:] = list(_idle), []
    for connection in closing:
        connection.close()


def _keep(connection: Channel) -> None:
    global _is_watched  # noqa: PLW0603 - one watcher for the process
    connection.idle_since = monotonic()
    with _lock:
        _idle.append(connection)
        surplus = _idle.pop(0) if len(_idle) > MOST_IDLE else None
        begins, _is_watched = not _is_watched, True
    if surplus is not None:
        surplus.close()
    if begins:
        try:
            THREADS.submit(_close_old)
        except RuntimeError:  # the system refuses another thread, or the program ends
            _is_watched = False
            close_idle()


def _close_old() -> None:
    """Close each connection when its time is over; end with the last."""
    global _is_watched  # noqa: PLW0603 - one watcher for the process
    while True:
        with _lock:
            count = sum(connection.idle_since + IDLE_SECONDS <= monotonic() for connection in _idle)
            expired_connections, _idle[:] = _idle[:count], _idle[count:]
            until = _idle[0].idle_since + IDLE_SECONDS if _idle else None
            _is_watched = until is not None
        for connection in expired_connections:
            connection.close()
        if until is None:
            return
        sleep(max(0.0, until - monotonic()))


def _after_fork() -> None:
    """Close the child's copies: two processes must not write to one connection."""
    global _lock, _is_watched
    _lock, _is_watched = Lock(), False
    close_idle()


platform.at_fork("after_in_child", _after_fork)
atexit.register(close_idle)
