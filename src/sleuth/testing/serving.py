"""A local server on a real socket of loopback, which stops with its test."""

from __future__ import annotations

import ssl
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from threading import Lock, Thread
from time import monotonic
from typing import Self


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came.

    Attributes:
        path: with its query string.
        headers: names in lower case.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to send.

    Attributes:
        pieces: sent in place of `body`, each as soon as it comes; a ConnectionResetError among them ends the
            connection there.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Iterable[bytes] | None = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256


class LocalServer(ABC):
    """A threaded HTTP server on a free port of 127.0.0.1, up inside its `with` block. Subclasses answer.

    Args:
        certificate: files of a certificate and its key, for a server over TLS.

    Attributes:
        requests: all that came, in order.
        refused: how many of them `limit_rate` refused.
        connections: how many were accepted.
    """

    def __init__(self, certificate: tuple[Path, Path] | None = None) -> None:
        self._certificate = certificate
        self.requests: list[Request] = []
        self.refused = 0
        self.connections = 0
        self._open: set[socket] = set()
        self._interval = 0.0
        self._free_at = 0.0
        self._lock = Lock()
        self._server: _Server | None = None
        self._thread: Thread | None = None

    @abstractmethod
    def answer(self, request: Request) -> Reply | None:
        """Return the reply to a request; None closes the connection without one."""

    @property
    def url(self) -> str:
        """The address of the running server, without a slash at the end."""
        if self._server is None:
            raise RuntimeError("the server is not running: use it as a context manager")
        scheme = "http" if self._certificate is None else "https"
        return f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        if self._certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)  # ends that soon
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
            self.end_connections()

    @contextmanager
    def counted(self, connection: socket) -> Iterator[None]:
        """Count a connection, and know it as open within the block."""
        with self._lock:
            self.connections += 1
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)

    def end_connections(self) -> None:
        """End every connection that clients keep open."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # its client ended it just now
                    socket.shutdown(connection, SHUT_RDWR)

    def limit_rate(self, per_second: float) -> None:
        """Answers this many requests a second from now on, evenly spaced, and refuses the others."""
        self._interval, self._free_at = 1 / per_second, 0.0

    def refusal(self, request: Request) -> Reply:
        """Return the reply to a request above the rate, without `Retry-After`."""
        return Reply(429, b'{"error": {"message": "too many requests"}}')

    def receive(self, request: Request) -> Reply | None:
        """Notes a request and answers it."""
        with self._lock:
            self.requests.append(request)
            now = monotonic()
            is_refused = now < self._free_at
            self.refused += is_refused
            if not is_refused:
                self._free_at = now + self._interval
        return self.refusal(request) if is_refused else self.answer(request)


def _handler(owner: LocalServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with owner.counted(self.connection):
                super().handle()

        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                reply = owner.receive(Request(self.command, self.path, headers, body))
                if reply is None:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                framing = {"Transfer-Encoding": "chunked"}
                if reply.pieces is None:
                    framing = {"Content-Length": str(len(reply.body))}
                for name, value in {**framing, **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if reply.pieces is None:
                    self.wfile.write(reply.body)
                    return
                for piece in reply.pieces:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client gave up waiting, as some tests want it to

        do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - names that http.server looks up

        def log_message(self, format: str, *args: object) -> None:
            """Write no access log among a test's output."""

    return Handler
