"""How answers and errors are written: JSON straight from plain values, and problem documents (RFC 9457).

Problems have the names of Sleuth's exception tree as codes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import urlencode

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from sleuth import errors
from sleuth.surfaces.hits import web_address
from sleuth.types import Ranking

logger = logging.getLogger("sleuth.http")
"""What the server logs; `server.LogLines` writes its records."""

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

_PROTOCOL_CODES = {400: "BodyError", 404: "PathError", 405: "MethodError", 413: "TooLargeError"}

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
    if isinstance(error, RequestValidationError):  # no text of the request is repeated
        places = [
            {"where": ".".join(map(str, entry["loc"])), "rule": entry["msg"], "kind": entry["type"]}
            for entry in error.errors()[:20]
        ]
        if any(place["kind"] == "json_invalid" for place in places):
            return Refusal(400, "JSONError", "the body must be JSON in UTF-8", errors=places)
        detail = "; ".join(f"{place['where']}: {place['rule']}" for place in places)
        return Refusal(422, "SchemaError", detail, errors=places)
    if isinstance(error, StarletteHTTPException):
        code = _PROTOCOL_CODES.get(error.status_code, "ProtocolError")
        detail = _PROTOCOL_DETAILS.get(error.status_code, str(error.detail))
        return Refusal(error.status_code, code, detail, error.headers)
    cause = error.__cause__
    if type(error) is errors.RetrievalError and isinstance(cause, errors.SleuthError):
        return refusal_of(cause)
    status, code, detail = 500, "InternalError", FAILED
    if isinstance(error, errors.SleuthError):
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
        code, detail = type(error).__name__, str(error)
    return Refusal(status, code, detail)


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


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response; infinite numbers and NaN become null. Bytes are JSON already."""
    content = value if isinstance(value, bytes) else to_json(value, inf_nan_mode="null", fallback=str)
    return Response(content, status, media_type="application/json")


def passage_url(base: str, id: str, metadata: Mapping[str, Any]) -> str:
    """Return the address of a passage: its page on the web, or else the source view of the server at `base`."""
    return web_address(id, metadata) or f"{base}source?{urlencode({'id': id})}#cited"


def _problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    content = {"content": {MEDIA_TYPE: {"schema": schema}}}
    return {status: {"description": f"{TITLES[status]}."} | content for status in statuses}


PROBLEMS = _problems(400, 401, 403, 408, 413, 415, 422, 429, 431, 500, 502, 503, 504)
"""What every route may answer besides its own answer."""

MISSING = _problems(404)
"""For routes that name something that may not be there."""


class LegReport(BaseModel):
    """What one leg or source of a search did."""

    name: str
    status: Literal["ok", "failed", "abandoned", "skipped"]
    seconds: float
    hits: int
    error: str


class Remarks(BaseModel):
    """What is said of a ranking beside its hits, at each door that searches."""

    degraded: bool = Field(
        description="Whether a part did not answer, so that hits may be missing.", examples=[False]
    )
    parts: list[LegReport]
    notes: list[str] = Field(description="Sentences for the author of the query.")


def remarks_of(ranking: Ranking) -> dict[str, Any]:
    """Return the fields of `Remarks` for a ranking."""
    parts = [part.to_dict() for part in ranking.parts]
    return {"degraded": bool(ranking.failures), "parts": parts, "notes": list(ranking.notes)}


class Strict(BaseModel):
    """A request: names that it does not have are refused."""

    model_config = {"extra": "forbid"}
