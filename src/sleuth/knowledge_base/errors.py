"""Errors of a knowledge base, with messages that say what to do."""

from __future__ import annotations

import re
import sys
from functools import cache
from typing import Any

from sleuth.errors import KnowledgeBaseError
from sleuth.remote import retry

SERVICE = "bedrock"
_ONGOING = re.compile(
    r"ongoing|in progress|\brunning\b|can(?:no|['’])?t exceed|concurren|too many", re.IGNORECASE | re.DOTALL
)
_REFUSALS = ("ValidationException", "ServiceQuotaExceededException", "LimitExceededException")
"""Codes for a bad request or for other work in progress; the message tells which."""
_STATUSES = (
    dict.fromkeys(("ThrottlingException", "Throttling", "ThrottledException", "SlowDown"), 429)
    | dict.fromkeys(("TooManyRequestsException", "RequestLimitExceeded"), 429)
    | dict.fromkeys(("ServiceUnavailable", "ServiceUnavailableException", "BadGatewayException"), 503)
    | dict.fromkeys(("InternalServer", "InternalServerError", "InternalServerException"), 503)
    | dict.fromkeys(("EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError"), 503)
    | dict.fromkeys(("ConnectionClosedError", "HTTPClientError"), 503)
)
"""What codes of the service and kinds of errors of boto3 mean for a retry, as statuses of HTTP."""

_DENIED = "may not be read with these credentials"
_VERBS = {
    "ResourceNotFoundException": "was not found",
    "AccessDeniedException": _DENIED,
    "UnrecognizedClientException": _DENIED,
    "ExpiredTokenException": _DENIED,
}


def code_of(error: BaseException) -> str:
    """Return the service's code of an error, such as "ConflictException", or "" for other errors."""
    return str(_response(error).get("Error", {}).get("Code", ""))


def _response(error: BaseException) -> dict[str, Any]:
    response = getattr(error, "response", None)
    return response if isinstance(response, dict) else {}


def again_when_down(error: Exception) -> retry.Again | None:
    """Retry if the service limits its rate, fails or cannot be reached."""
    names = (code_of(error), *(kind.__name__ for kind in type(error).__mro__))
    status = next((_STATUSES[name] for name in names if name in _STATUSES), _status(error) or 0)
    headers = (_response(error).get("ResponseMetadata") or {}).get("HTTPHeaders") or {}
    return retry.again_after(status, retry.retry_after(headers.get("retry-after")))


def again_when_busy(error: Exception) -> retry.Again | None:
    """Retry as `again_when_down`, and also if another job holds the data source or too many run at once."""
    code = code_of(error)
    if code == "ConflictException" or (code in _REFUSALS and _ONGOING.search(_message(error))):
        return retry.Again(reason="conflict")
    return again_when_down(error)


def explain(error: BaseException, knowledge_base: str) -> str:
    """Describe a failure of AWS or its client in one sentence: what is wrong, and what mends it."""
    name, code = type(error).__name__, code_of(error)
    base = f"knowledge base {knowledge_base!r}"
    if name in ("NoCredentialsError", "PartialCredentialsError"):
        remedy = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run `aws configure`"
        return f"{base}: no AWS credentials were found: {remedy}"
    if name == "ParamValidationError":
        return f"{base} was not asked: {str(error).splitlines()[-1]}"
    if code:
        return f"{base} {_VERBS.get(code, f'answered {code}')}: {_message(error) or 'no reason given'}"
    return f"{base}: {error}" if type(error) is KnowledgeBaseError else f"{base} did not answer: {error}"


def _message(error: BaseException) -> str:
    return str(_response(error).get("Error", {}).get("Message", "") if hasattr(error, "response") else error)


def wrapped(error: BaseException, message: str) -> BaseException:
    """Return the error to raise for a failure of a service: a KnowledgeBaseError that keeps the original type.

    Both `except KnowledgeBaseError` and boto3's `except ClientError` catch it, and it has the same `response`. Other
    exceptions are returned unchanged.
    """
    if type(error) is KnowledgeBaseError:
        return KnowledgeBaseError(message, service=SERVICE)
    is_foreign = any(kind.__module__.partition(".")[0] == "botocore" for kind in type(error).__mro__)
    if isinstance(error, KnowledgeBaseError) or not is_foreign:
        return error
    ours: KnowledgeBaseError = _of_both(type(error).__name__, (KnowledgeBaseError, type(error)), message)
    ours.__dict__.update(vars(error))
    ours.service = SERVICE
    ours.url = ""
    ours.status = _status(error)
    return ours


def _status(error: BaseException) -> int | None:
    status = _response(error).get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status if isinstance(status, int) else None


@cache
def _kind_of_both(name: str, kinds: tuple[type[BaseException], ...]) -> Any:
    """Return a class of one of our errors that is also one of another package, whose documentation it has."""
    members = {"__module__": __name__, "__doc__": kinds[-1].__doc__, "__reduce__": _reduced}
    return type(name, kinds, members)


def _of_both(name: str, kinds: tuple[type[BaseException], ...], *args: Any) -> Any:
    """Return an error of a class of both, made without their `__init__`, which take other arguments."""
    kind = _kind_of_both(name, kinds)
    return kind.__new__(kind, *args)


def _reduced(error: BaseException) -> tuple[Any, ...]:
    ours, theirs = type(error).__bases__
    # boto3 makes classes for the errors of a service, which no module names.
    named = next(
        kind for kind in theirs.__mro__ if vars(sys.modules[kind.__module__]).get(kind.__name__) is kind
    )
    return _of_both, (type(error).__name__, (ours, named), *error.args), vars(error)


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
    """Return a `LocalServiceError`, which is also a ClientError if boto3 is installed."""
    plain_error = LocalServiceError(code, message, operation, status)
    try:
        from botocore.exceptions import ClientError
    except ImportError:
        return plain_error
    kinds = (LocalServiceError, ClientError)
    error: LocalServiceError = _of_both("LocalServiceError", kinds, str(plain_error))
    error.__dict__.update(vars(plain_error))
    return error
