"""Opens URLs with urllib over connections that a cancelled call closes."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from contextlib import suppress
from functools import cache
from typing import Any

from sleuth.remote import current_cancellation


class _Closable(http.client.HTTPConnection):
    def connect(self) -> None:
        """Connect, and register the socket with the cancellation of the current call."""
        super().connect()
        sock, cancellation = self.sock, current_cancellation()
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
def closable_opener() -> Any:
    """Return a urllib opener that handles proxies and redirects as `urlopen` does."""
    return urllib.request.build_opener(_Handler, _SecureHandler)
