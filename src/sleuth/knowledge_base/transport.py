"""Sends the requests of a boto3 client over our own transport, so that no answer outlasts its deadline.

botocore limits only each read of a socket: a server that sends a byte now and then outlasts that limit, and an endless
answer fills the memory. A handler of botocore's `before-send` event replaces its transport.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from sleuth.remote import BrokenError, CertificateError, Deadline, LargeError
from sleuth.remote.answer import LateError, UnreachableError

MAX_BYTES = 64_000_000


class _Raw:
    """A complete body in the form that botocore expects."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        """Yield the body in one piece."""
        yield self._body


def sender(timeout: float) -> Callable[..., Any]:
    """Return a handler of botocore's `before-send` that sends requests in place of the client's own transport.

    Errors are raised as botocore's, which its retries know. Too large an answer counts as a read timeout: botocore has
    no error for it.

    Args:
        timeout: seconds for a whole request.
    """
    from botocore.awsrequest import AWSResponse
    from botocore.exceptions import ConnectionClosedError, EndpointConnectionError, ReadTimeoutError, SSLError

    # Loads httpx here, not within the deadline of the first request.
    from sleuth.remote.exchange import exchange_with_host, tls_context

    def send(request: Any, **_: Any) -> Any:
        try:
            bundle = os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE")
            headers = {
                name: value.decode("latin-1") if isinstance(value, bytes) else str(value)
                for name, value in request.headers.items()
            }
            with exchange_with_host(
                request.method, request.url, deadline=Deadline(timeout), headers=headers,
                body=request.body.encode() if isinstance(request.body, str) else request.body,
                context=tls_context(bundle),
            ) as exchange:  # fmt: skip
                response = exchange.read(MAX_BYTES)
        except (LateError, LargeError) as error:
            failure: Exception = ReadTimeoutError(endpoint_url=request.url, error=error)
        except UnreachableError as error:
            failure = EndpointConnectionError(endpoint_url=request.url, error=error)
        except BrokenError as error:
            failure = ConnectionClosedError(endpoint_url=request.url, error=error)
        except CertificateError as error:
            failure = SSLError(endpoint_url=request.url, error=error)
        else:
            return AWSResponse(request.url, response.status, dict(response.headers), _Raw(response.body))
        raise failure

    return send
