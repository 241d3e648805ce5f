"""Connections under limits: heads of a bounded size that arrive in a bounded time."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sleuth.surfaces.http.answers import MEDIA_TYPE, Refusal, problem

MOST_HEAD = 64 << 10
"""Bytes of a request's line and headers at most."""

MOST_HEADERS = 200
"""Headers of a request at most."""

HEAD_SECONDS = 10.0
"""Time in which the head of a request must arrive."""


class LimitedProtocol(HttpToolsProtocol):
    """HTTP/1.1 as uvicorn speaks it, without endless heads and without connections that never ask.

    Attributes:
        head_seconds: in which the head of a request must arrive, the first one counted from the connection.
    """

    head_seconds = HEAD_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock of the first head."""
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self.on_message_begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to count a head, and start its clock where none runs."""
        self._head_size = self._head_count = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_seconds, self._late)
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count a piece of the request line; raises as `on_header` does."""
        self._head_size += len(url)
        if self._head_size > MOST_HEAD:
            raise ValueError("the head is too long")
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header.

        Raises:
            ValueError: the head is too long; that ends the parser, which then calls `send_400_response`.
        """
        self._head_count += 1
        self._head_size += len(name) + len(value)
        if self._head_size > MOST_HEAD or self._head_count > MOST_HEADERS:
            raise ValueError("the head is too long")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request once its head is complete."""
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer a head that is malformed, or longer than the limits."""
        if self._head_size > MOST_HEAD or self._head_count > MOST_HEADERS:
            self._close(431, "HeadersError", f"headers must be at most {MOST_HEADERS} of {MOST_HEAD:,} bytes")
        else:
            self._close(400, "ProtocolError", "the request must be HTTP/1.1, with a percent-encoded address")

    def _late(self) -> None:
        if self._head_size:
            self._close(408, "SlowRequestError", "the head of a request must arrive in time")
        else:
            self.transport.close()

    def _close(self, status: int, code: str, detail: str) -> None:
        """Answer with a problem and close the connection."""
        if self.transport.is_closing():
            return
        body = problem(Refusal(status, code, detail), "").body
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: {MEDIA_TYPE}\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
