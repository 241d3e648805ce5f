"""How answers are written: JSON straight from plain values, and the responses that every route documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field
from pydantic_core import from_json, to_json
from starlette.responses import Response

from sleuth.surfaces.http.problems import MEDIA_TYPE, ProblemDocument, Refusal, problem

if TYPE_CHECKING:
    from sleuth.types import Ranking


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response; infinite numbers and NaN become null."""
    return Response(to_json(value, inf_nan_mode="null", fallback=str), status, media_type="application/json")


def passage_url(base: str, id: str, metadata: Mapping[str, Any]) -> str:
    """Return the address of a passage: its page on the web, or else the source view of the server at `base`."""
    source = str(metadata.get("source") or "")
    if source.startswith(("http://", "https://")):
        return source
    return f"{base}source?{urlencode({'id': id})}#cited"


def _problem(text: str, status: int, code: str, detail: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    refusal = Refusal(status, code, detail)
    example = from_json(bytes(problem(refusal, "b7c1").body))
    return {"description": text, "content": {MEDIA_TYPE: {"schema": schema, "example": example}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The body is not JSON.", 400, "JSONError", "the body must be JSON in UTF-8"),
    401: _problem(
        "No key, or one that is not known.", 401, "KeyMissingError", "authorization must be `Bearer KEY`"
    ),
    429: _problem(
        "The key made more requests than its rate allows; `retry-after` says when to try again.",
        429,
        "RateError",
        "this key may ask 60 times a minute",
    ),
    403: _problem(
        "The key, the host or the origin does not allow this.",
        403,
        "ScopeError",
        "the key must have the scope write",
    ),
    408: _problem(
        "The request did not arrive before its deadline.",
        408,
        "DeadlineError",
        "the request must arrive within 30 s",
    ),
    413: _problem(
        "The body is too large.", 413, "TooLargeError", "the body must have at most 33,554,432 bytes"
    ),
    415: _problem(
        "The body has another media type.",
        415,
        "MediaTypeError",
        "content-type must be application/json, got 'text/plain'",
    ),
    422: _problem(
        "An argument breaks its rule; `detail` says which.",
        422,
        "ArgumentError",
        "k must be an int of 0 or more, got -1",
    ),
    431: _problem(
        "The address and the headers are too long.",
        431,
        "HeadersError",
        "the head must have at most 65,536 bytes",
    ),
    500: _problem(
        "The server failed.", 500, "InternalError", "the server failed; its log has the request id"
    ),
    502: _problem(
        "A service that the server asks failed.", 502, "GenerationError", "the model does not answer"
    ),
    503: _problem(
        "Too many requests wait, or another writer holds the index; `Retry-After` says when to ask again.",
        503,
        "QueueFullError",
        "too many requests wait",
    ),
    504: _problem(
        "The deadline of the request passed.", 504, "DeadlineError", "the deadline of the request passed"
    ),
}
"""What every route may answer besides its own answer."""

MISSING: dict[int | str, dict[str, Any]] = {
    404: _problem("Not found.", 404, "UnknownDocumentError", "id must be of a document, got 'a.md'")
}
"""For routes that name something that may not be there."""

GONE: dict[int | str, dict[str, Any]] = {
    409: _problem(
        "The repository no longer has the commit.",
        409,
        "UnknownCommitError",
        "revision must be a commit, got '9d1c'",
    )
}
"""For routes that read a commit of a snapshot."""


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
