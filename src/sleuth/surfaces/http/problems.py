"""Errors as problem documents (RFC 9457), with the names of Sleuth's exception tree as codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from sleuth import errors

MEDIA_TYPE = "application/problem+json"


class ProblemDocument(BaseModel):
    """An error, as RFC 9457 describes it.

    Attributes:
        type: names the kind of the problem: `urn:sleuth:error:` and its code.
        title: the kind in words.
        status: the HTTP status.
        detail: what was wrong here, and what mends it.
        message: the same, where OpenAI's clients look for it.
        code: the class in Sleuth's exception tree, such as "FilterError", or a name of the server's own.
        request_id: finds the request in the log.
        errors: for a request that breaks the schema: each place and what is wrong there.
    """

    type: str
    title: str
    status: int
    detail: str
    message: str
    code: str
    request_id: str = ""
    errors: list[dict[str, Any]] | None = None


class Refusal(HTTPException):
    """A request that is refused, or that failed. One that may be sent again, a 503, has the header `retry-after`.

    Attributes:
        code: names the reason, for programs.
        errors: for a request that breaks the schema: each place and what is wrong there.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        errors: list[dict[str, Any]] | None = None,
    ) -> None:
        again = {"retry-after": str(RETRY_SECONDS)} if status == 503 else {}
        super().__init__(status, for_clients(detail), again | dict(headers or {}))
        self.code = code
        self.errors = errors


_COMMANDS = ("`sleuth ", "pip install", " --", "`--", "`ollama ")
_FOR_OPERATORS = " (a command is for whoever runs this server)"


def for_clients(detail: str) -> str:
    """Return a message that names a command with a remark on who can run it: a client over HTTP cannot."""
    if detail.endswith(_FOR_OPERATORS) or not any(sign in detail for sign in _COMMANDS):
        return detail
    return detail + _FOR_OPERATORS


EXPECTED = (errors.SleuthError, StarletteHTTPException, RequestValidationError)
"""Errors of a handler that are answers; any other is a failure of the server."""

TITLES = {
    400: "Bad request",
    401: "Key required",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    408: "Request too slow",
    409: "No longer there",
    413: "Request too large",
    415: "Unsupported media type",
    422: "Invalid argument",
    429: "Too many requests",
    431: "Headers too large",
    500: "Internal error",
    501: "Not installed",
    502: "A service failed",
    503: "Not available now",
    504: "Deadline passed",
}

_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (errors.UnknownRepositoryError, 404),
    (errors.UnknownSnapshotError, 404),
    (errors.UnknownCommitError, 409),
    (errors.ArgumentError, 422),
    (errors.LoadError, 422),
    (errors.MissingPackageError, 501),
    (errors.IndexDamagedError, 500),
    (errors.IndexUnsafeError, 500),
    (errors.FormatVersionError, 500),
    (errors.EmbedderMismatchError, 500),
    (errors.StoreError, 503),
    (errors.UnavailableError, 503),
    (errors.RemoteError, 502),
)
"""The first class that fits says the status; 500 for any other."""

_PROTOCOL_CODES = {
    400: "BodyError",
    404: "PathError",
    405: "MethodError",
    413: "TooLargeError",
}

_PROTOCOL_DETAILS = {
    404: "the path must be one that GET /openapi.json lists",
    405: "the method must be one that GET /openapi.json lists for this path",
}
"""What mends a request that no handler takes; those of handlers say more themselves."""

FAILED = "the server failed; its log has the request id"
"""Message to clients for an internal failure."""

RETRY_SECONDS = 1


def refusal_of(error: Exception) -> Refusal:
    """Convert an exception to a refusal.

    Only errors of Sleuth's tree and of the protocol tell what happened; others may hold what is not for clients.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, StarletteHTTPException):
        code = _PROTOCOL_CODES.get(error.status_code, "ProtocolError")
        detail = _PROTOCOL_DETAILS.get(error.status_code, str(error.detail))
        return Refusal(error.status_code, code, detail, error.headers)
    cause = error.__cause__
    if type(error) is errors.RetrievalError and isinstance(cause, errors.SleuthError):
        return refusal_of(cause)
    if not isinstance(error, errors.SleuthError):
        return Refusal(500, "InternalError", FAILED)
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return Refusal(status, type(error).__name__, str(error))


def _invalid(error: RequestValidationError) -> Refusal:
    """Return the refusal of a request that breaks the schema, without repeating any text of the request."""
    places = [
        {"where": ".".join(map(str, entry["loc"])), "rule": entry["msg"], "kind": entry["type"]}
        for entry in error.errors()[:20]
    ]
    if any(place["kind"] == "json_invalid" for place in places):
        return Refusal(400, "JSONError", "the body must be JSON in UTF-8", errors=places)
    detail = "; ".join(f"{place['where']}: {place['rule']}" for place in places)
    return Refusal(422, "SchemaError", detail, errors=places)


def problem_document(refusal: Refusal, request_id: str = "") -> ProblemDocument:
    """Return what is said of a refusal."""
    return ProblemDocument(
        type=f"urn:sleuth:error:{refusal.code}",
        title=TITLES.get(refusal.status_code, "Error"),
        status=refusal.status_code,
        detail=str(refusal.detail),
        message=str(refusal.detail),
        code=refusal.code,
        request_id=request_id,
        errors=refusal.errors,
    )


def problem(refusal: Refusal, request_id: str) -> Response:
    """Return the response for a refusal."""
    body = to_json(problem_document(refusal, request_id), exclude_none=True)
    return Response(body, refusal.status_code, refusal.headers, MEDIA_TYPE)


Dialect: TypeAlias = Callable[[Refusal, str], Response]
"""Writes a refusal as the clients of one path expect it."""
