"""What went wrong at a knowledge base, in words that say what to do?"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from sleuth.errors import KnowledgeBaseError

SERVICE = "bedrock"
_ONGOING = re.compile(r"ongoing|in progress|already running", re.IGNORECASE)
_OUTAGES = (
    "ThrottlingException",
    "TooManyRequestsException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "InternalServerError",
    "InternalServerException",
    "InternalServer",
    "BadGatewayException",
)
_BROKEN = (
    "EndpointConnectionError",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ConnectionClosedError",
    "HTTPClientError",
)


_DENIED = "may not be read with these credentials"
_VERBS = {
    "ResourceNotFoundException": "was not found",
    "AccessDeniedException": _DENIED,
    "UnrecognizedClientException": _DENIED,
    "ExpiredTokenException": _DENIED,
}


def code_of(error: BaseException) -> str:
    """The service's code of an error, such as "ConflictException"; "" for an error of another kind."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def is_conflict(error: BaseException) -> bool:
    """Whether another job holds the data source, so that the same request may do later."""
    code = code_of(error)
    return code == "ConflictException" or (
        code == "ValidationException" and _ONGOING.search(str(error)) is not None
    )


def is_outage(error: BaseException) -> bool:
    """Whether the service throttles, fails or cannot be reached, so that the same request may do later."""
    return code_of(error) in _OUTAGES or any(kind.__name__ in _BROKEN for kind in type(error).__mro__)


def explain(error: BaseException, knowledge_base: str) -> str:
    """One sentence for a failure of AWS or its client: what is wrong, and what mends it."""
    name, code = type(error).__name__, code_of(error)
    base = f"knowledge base {knowledge_base!r}"
    if name in ("NoCredentialsError", "PartialCredentialsError"):
        told = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
        return f"{base}: no AWS credentials were found: {told}"
    if name == "ParamValidationError":
        return f"{base} cannot be asked so: {str(error).splitlines()[-1]}"
    if code:
        return f"{base} {_VERBS.get(code, f'answered {code}')}: {_message(error)}"
    return f"{base}: {error}" if type(error) is KnowledgeBaseError else f"{base} did not answer: {error}"


def _message(error: BaseException) -> str:
    return (
        str(error.response.get("Error", {}).get("Message", "")) if hasattr(error, "response") else str(error)
    )


def wrapped(error: BaseException, message: str) -> BaseException:
    """The error to raise for a failure of a service: ours, and of the kind that it was too.

    So `except KnowledgeBaseError` catches it, and so does an `except ClientError` written for boto3, with the
    `response` that it has there. What is no failure of a service is given back as it is.
    """
    if type(error) is KnowledgeBaseError:
        return KnowledgeBaseError(message, service=SERVICE)
    if isinstance(error, KnowledgeBaseError) or not _is_foreign(error):
        return error
    kind = _joined(type(error))
    ours = kind.__new__(kind, message)
    ours.__dict__.update(vars(error))
    ours.service = SERVICE
    ours.url = ""
    ours.status = _status(error)
    return ours


def _is_foreign(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] == "botocore" for kind in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    status = (
        response.get("ResponseMetadata", {}).get("HTTPStatusCode") if isinstance(response, dict) else None
    )
    return status if isinstance(status, int) else None


_kinds: dict[type[BaseException], type[KnowledgeBaseError]] = {}


def _joined(kind: type[BaseException]) -> type[KnowledgeBaseError]:
    found = _kinds.get(kind)
    if found is None:
        names = {"__module__": __name__, "__doc__": kind.__doc__}
        found = _kinds[kind] = type(kind.__name__, (KnowledgeBaseError, kind), names)
    return found


class KnowledgeBaseTimeoutError(KnowledgeBaseError, TimeoutError):
    """No slice of a query answered within its deadline."""


class LocalServiceError(KnowledgeBaseError):
    """An error of `LocalKnowledgeBase`, with the `response` of boto3's ClientError.

    Attributes:
        response: `{"Error": {"Code", "Message"}, "ResponseMetadata": {"HTTPStatusCode"}}`.
        operation_name: as AWS spells it.
    """

    def __init__(self, code: str, message: str, operation: str, status: int = 400) -> None:
        super().__init__(f"{code} at {operation}: {message}", service="local knowledge base", status=status)
        self.response: dict[str, Any] = {
            "Error": {"Code": code, "Message": message},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        self.operation_name = operation


def local_error(code: str, message: str, operation: str, status: int = 400) -> LocalServiceError:
    """A `LocalServiceError`, which is also a ClientError where boto3 is installed."""
    plain = LocalServiceError(code, message, operation, status)
    try:
        from botocore.exceptions import ClientError
    except ImportError:
        return plain
    kind = _local(ClientError)
    error = kind.__new__(kind, str(plain))
    error.__dict__.update(vars(plain))
    return error


@cache
def _local(kind: type[Exception]) -> type[LocalServiceError]:
    return type("LocalServiceError", (LocalServiceError, kind), {"__module__": __name__})
