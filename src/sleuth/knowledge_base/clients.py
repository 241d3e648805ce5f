"""How is a hosted knowledge base reached?

boto3's own defaults are a minute to connect, a minute to read and several tries: here a client has short
timeouts, one try, and a limit on the whole of an answer.
"""

from __future__ import annotations

import os
from functools import cache
from threading import Lock
from typing import Any

from sleuth.errors import KnowledgeBaseError, MissingPackageError
from sleuth.knowledge_base.transport import sender

CONNECT_TIMEOUT = 2.0

_default: Any = None
_lock = Lock()


def set_default_client(client: Any | None) -> None:
    """Makes `client` answer wherever none is given, such as a `LocalKnowledgeBase`; None goes back to AWS."""
    global _default  # noqa: PLW0603 - one setting of the process, as an environment variable would be
    with _lock:
        _default = client


def default_client(service: str, timeout: float) -> Any:
    """The client to use where none is given: the one that was set, else boto3's for `AWS_REGION`.

    Args:
        service: "bedrock-agent-runtime" or "bedrock-agent".
        timeout: seconds that a request may take, of a client made here.

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
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise MissingPackageError("boto3", "bedrock", "reaching AWS knowledge bases") from error
    session = boto3.Session()
    region = os.environ.get("AWS_REGION") or session.region_name
    if not region:
        raise KnowledgeBaseError(
            "AWS_REGION must be set to reach a knowledge base of AWS; for an index on this machine, "
            "pass LocalKnowledgeBase(engine) as the client, or set_default_client(LocalKnowledgeBase(engine))",
            service=service,
        )
    connect = min(CONNECT_TIMEOUT, timeout)
    config = Config(
        connect_timeout=connect,
        read_timeout=timeout,
        retries={"total_max_attempts": 1},
    )
    try:
        client = session.client(service, region_name=region, config=config)
    except BotoCoreError as error:
        raise KnowledgeBaseError(f"no client for AWS could be made: {error}", service=service) from error
    name = client.meta.service_model.service_id.hyphenize()
    # A little longer than a slice has: its own deadline decides, and not a race between the two.
    client.meta.events.register(f"before-send.{name}", sender(1.1 * timeout))
    return client


def endpoint_of(client: Any) -> str | None:
    """The address that a client talks to, or None for one that is not boto3's."""
    meta = getattr(client, "meta", None)
    address = getattr(meta, "endpoint_url", None)
    return address if isinstance(address, str) else None


def limit_of(client: Any, operation: str, member: str, fallback: int) -> int:
    """The most entries that a list of a request may have, read from the client's own model of the service."""
    model = getattr(getattr(client, "meta", None), "service_model", None)
    operations = getattr(model, "operation_names", None)
    if not isinstance(operations, (list, tuple)) or operation not in operations or model is None:
        return fallback
    most = model.operation_model(operation).input_shape.members[member].metadata.get("max", fallback)
    return int(most)
