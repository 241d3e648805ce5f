"""How answers are written: JSON straight from plain values, and the responses that every route documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field
from pydantic_core import from_json, to_json
from starlette.responses import Response

from sleuth.surfaces.http.problems import FAILED, MEDIA_TYPE, ProblemDocument, Refusal, problem

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


_EXAMPLES = {
    400: ("The body is not JSON.", "JSONError", "the body must be JSON in UTF-8"),
    401: ("No key, or one that is not known.", "KeyMissingError", "authorization must be `Bearer KEY`"),
    403: ("The key, the host or the origin does not allow this.", "ScopeError", "the key must have the scope write"),
    408: ("The request did not arrive before its deadline.", "DeadlineError", "the request must arrive within 30 s"),
    413: ("The body is too large.", "TooLargeError", "the body must have at most 33,554,432 bytes"),
    415: (
        "The body has another media type.", "MediaTypeError", "content-type must be application/json, got 'text/plain'",
    ),
    422: (
        "An argument breaks its rule; `detail` says which.", "ArgumentError", "k must be an int of 0 or more, got -1",
    ),
    429: (
        "The key made more requests than its rate allows; `retry-after` says when to try again.",
        "RateError", "this key may ask 60 times a minute",
    ),
    431: (
        "The address and the headers are too long.", "HeadersError", "the head must have at most 65,536 bytes",
    ),
    500: ("The server failed.", "InternalError", FAILED),
    502: ("A service that the server asks failed.", "GenerationError", "the model does not answer"),
    503: (
        "Too many requests wait, or another writer holds the index; `Retry-After` says when to ask again.",
        "QueueFullError", "too many requests wait",
    ),
    504: ("The deadline of the request passed.", "DeadlineError", "the deadline of the request passed"),
}  # fmt: skip
"""By status: what it means, and a code and a detail as an example."""

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: _problem(text, status, code, detail) for status, (text, code, detail) in _EXAMPLES.items()
}
"""What every route may answer besides its own answer."""

MISSING: dict[int | str, dict[str, Any]] = {
    404: _problem("Not found.", 404, "UnknownDocumentError", "id must be of a document, got 'a.md'")
}
"""For routes that name something that may not be there."""

GONE: dict[int | str, dict[str, Any]] = {
    409: _problem("The commit is gone.", 409, "UnknownCommitError", "revision must be a commit, got '9d1c'")
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
