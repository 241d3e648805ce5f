"""Makes and chooses the clients of a hosted knowledge base.

By default boto3 waits a minute to connect and a minute to read, and tries several times. Clients made here have short
timeouts, make one attempt, and limit the time of a whole answer: botocore limits only each read of a socket, so a
server that sends a byte now and then outlasts that limit, and an endless answer fills the memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from threading import Lock
from types import SimpleNamespace
from typing import Any

from sleuth.errors import KnowledgeBaseError, requires
from sleuth.remote import BrokenError, CertificateError, Deadline, LargeError
from sleuth.remote.answer import LateError, UnreachableError
from sleuth.remote.endpoints import Endpoint, endpoint_at

CONNECT_TIMEOUT = 2.0
MAX_BYTES = 64_000_000

_default: Any = None
_lock = Lock()


def set_default_client(client: Any | None) -> None:
    """Use `client`, such as a `LocalKnowledgeBase`, in calls without a client; None goes back to AWS."""
    global _default  # noqa: PLW0603 - one setting of the process, as an environment variable would be
    with _lock:
        _default = client


def default_client(service: str, timeout: float) -> Any:
    """Return the client for calls without one: the one that was set, else boto3's for `AWS_REGION`.

    Args:
        service: "bedrock-agent-runtime" or "bedrock-agent".
        timeout: seconds that a request of a client made here may take.

    Raises:
        KnowledgeBaseError: no region is set.
        MissingPackageError: the extra `bedrock` is not installed.
    """
    if _default is not None:
        return _default
    settings = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
    with _lock:  # boto3's sessions are not safe to share while they make clients
        return _aws_client(service, timeout, settings)


@cache
def _aws_client(service: str, timeout: float, _settings: tuple[tuple[str, str], ...]) -> Any:
    """Return the client of a service, which is made anew when the variables of AWS change: `_settings`."""
    with requires("boto3", "bedrock", "reaching AWS knowledge bases"):
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    session = boto3.Session()
    region = os.environ.get("AWS_REGION") or session.region_name
    if not region:
        raise KnowledgeBaseError(
            "AWS_REGION must be set to reach a knowledge base of AWS, as in AWS_REGION=us-east-1; a knowledge base on "
            "this machine needs no region: leave out --aws, or pass LocalKnowledgeBase(engine) as the client",
            service=service,
        )
    connect = min(CONNECT_TIMEOUT, timeout)
    config = Config(connect_timeout=connect, read_timeout=timeout, retries={"total_max_attempts": 1})
    try:
        client = session.client(service, region_name=region, config=config)
    except BotoCoreError as error:
        raise KnowledgeBaseError(f"the AWS client could not be created: {error}", service=service) from error
    name = client.meta.service_model.service_id.hyphenize()
    # A little longer than a slice's deadline, so that the deadline always ends first.
    client.meta.events.register(f"before-send.{name}", sender(1.1 * timeout))
    return client


def endpoint_of(client: Any) -> Endpoint | None:
    """Return the pace and guard of the service that a client talks to, or None if it is not a client of boto3."""
    address = getattr(getattr(client, "meta", None), "endpoint_url", None)
    return endpoint_at(address) if isinstance(address, str) and address else None


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
    from sleuth.remote import exchange_with_host
    from sleuth.remote.exchange import tls_context

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
            raw = SimpleNamespace(stream=lambda: iter([response.body]))  # the form that botocore reads
            return AWSResponse(request.url, response.status, dict(response.headers), raw)
        raise failure

    return send
