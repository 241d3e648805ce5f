"""Sends requests with urllib, as document 004 says for Ollama; its answers are read as those of any other service."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import cache
from io import BufferedIOBase, BytesIO
from typing import Any

from sleuth.remote import Answer, BrokenError, Deadline
from sleuth.remote.answer import LateError, UnreachableError
from sleuth.remote.cancellation import current_cancellation

_PIECE = 64 * 1024


class UrllibAnswer(Answer):
    """An answer that urllib opened. urllib itself bounds the silence of the server."""

    def __init__(self, stack: ExitStack, response: Any, status: int, headers: Any) -> None:
        self._stack = stack
        self._response = response
        self.status = status
        self.headers = headers

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            BrokenError: it ended too early, or the server was silent for too long.
        """
        try:
            if not isinstance(self._response, BufferedIOBase):
                yield bytes(self._response.read())  # an opener of the program may answer without a socket
                return
            while piece := self._response.read1(_PIECE):
                yield piece
        except (OSError, http.client.HTTPException) as error:
            raise failure_of(error) from error

    def renew(self) -> None:
        """Do nothing: each read has a timeout of its own."""

    def close(self) -> None:
        """End the connection."""
        self._stack.close()


def send(url: str, body: bytes | None, secret_headers: Mapping[str, str], deadline: Deadline) -> Answer:
    """Send a request and return its answer, of any status.

    Raises:
        BrokenError: no answer; `UnreachableError` if nothing was sent, `LateError` if the deadline passed.
    """
    # base_url is checked to be HTTP
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310
    for name, value in secret_headers.items():
        request.add_unredirected_header(name, value)
    # Cancelling an async call must close its connection; other calls use urlopen, as document 004 says.
    open_url = _closable_opener().open if current_cancellation.get() is not None else urllib.request.urlopen
    stack = ExitStack()
    try:
        response = stack.enter_context(open_url(request, timeout=deadline.remaining()))
    except urllib.error.HTTPError as error:
        # urllib closes the body with the error. An error built by the program may have neither body nor headers.
        stack.push(error.__exit__)
        return UrllibAnswer(stack, error.fp or BytesIO(), error.code, error.headers or {})
    except (OSError, http.client.HTTPException) as error:
        raise failure_of(error) from error
    return UrllibAnswer(stack, response, response.status, response.headers)


def failure_of(error: Exception) -> BrokenError:
    """Return the failure that an exception of urllib or http.client means."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return LateError("timed out")
    if isinstance(reason, http.client.HTTPException) or (
        isinstance(reason, ConnectionError) and not isinstance(reason, ConnectionRefusedError)
    ):
        return BrokenError(repr(reason))
    return UnreachableError(str(reason))


class _Closable(http.client.HTTPConnection):
    def connect(self) -> None:
        """Connect, and register the socket with the cancellation of the current call."""
        super().connect()
        sock, cancellation = self.sock, current_cancellation.get()
        if cancellation is None:
            return

        def shut() -> None:
            with suppress(OSError):  # it is closed already
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

        cancellation.register(shut)  # until the call ends


class _SecureClosable(_Closable, http.client.HTTPSConnection):
    pass


class _Handler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Closable, req)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureClosable, req, context=ssl.create_default_context())


@cache
def _closable_opener() -> Any:
    """Return a urllib opener that handles proxies and redirects as `urlopen` does."""
    return urllib.request.build_opener(_Handler, _SecureHandler)
