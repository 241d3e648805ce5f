"""How is a request of boto3 sent so that its answer cannot outlast a deadline?

botocore's transport limits each read of a socket. A server that sends a byte now and then outlasts that,
and with it the thread of an abandoned slice; one that sends without end fills the memory. Here botocore's
own transport is used, with connections that give each read what is left of the whole, and a limit on the
size.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from http.client import HTTPResponse
from threading import local
from typing import Any

from sleuth.remote.deadline import Deadline
from sleuth.remote.timed import TimedSocket

MAX_BYTES = 64_000_000
POOL = 64
"""Connections that are kept to be used again."""
_PIECE = 65_536

_current = local()
"""`deadline`: of the request that this thread makes."""


class _TimedResponse(HTTPResponse):
    def __init__(self, sock: Any, *rest: Any, **more: Any) -> None:
        super().__init__(TimedSocket(sock, _current.deadline), *rest, **more)  # type: ignore[arg-type]


def sender(endpoint: str, connect: float, timeout: float) -> Callable[..., Any]:
    """A handler of botocore's `before-send`: sends a request in place of the client's own transport.

    Args:
        endpoint: the address of the service, by which proxies are chosen.
        connect: seconds to connect.
        timeout: seconds for the whole of a request.
    """
    from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
    from botocore.httpsession import URLLib3Session
    from botocore.utils import get_environ_proxies
    from urllib3.exceptions import HTTPError

    session = URLLib3Session(
        verify=os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE") or True,
        proxies=get_environ_proxies(endpoint),
        timeout=(connect, timeout),
        max_pool_connections=POOL,
        # As botocore's own: without it, head and body of a request wait 40 ms for each other.
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
    )
    _time_connections(session)

    def send(request: Any, **_: Any) -> Any:
        _current.deadline = Deadline(timeout)
        request.stream_output = True
        response = session.send(request)
        raw = response.raw
        try:
            body = _drain(raw)
        except (HTTPError, TimeoutError) as error:
            raw.close()  # half-read: not to be used again
            raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
        told = response.headers.get("Content-Length", "")
        if told.isdigit() and len(body) < int(told):
            raw.close()
            raise ConnectionClosedError(endpoint_url=request.url, error="the answer was cut short")
        raw.release_conn()
        response._content = body
        return response

    return send


def _time_connections(session: Any) -> None:
    """Makes the connections of a session read under the deadline.

    Without the attribute, in a botocore to come, bodies are still limited, between two pieces of them.
    """
    pools = getattr(session, "_pool_classes_by_scheme", {})
    for scheme, pool in dict(pools).items():
        connection = type(
            pool.ConnectionCls.__name__, (pool.ConnectionCls,), {"response_class": _TimedResponse}
        )
        pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": connection})


def _drain(raw: Any) -> bytes:
    """The body of an answer.

    Raises:
        TimeoutError: it is too slow, or larger than `MAX_BYTES`.
    """
    read = getattr(raw, "read1", None) or raw.read
    pieces, size = [], 0
    while piece := read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if _current.deadline.passed() or size > MAX_BYTES:
            raise TimeoutError(f"no end of the answer after {size} bytes")
    return b"".join(pieces)
