"""How answers are written: JSON straight from plain values, and the responses that every route documents."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from sleuth.surfaces.http.problems import MEDIA_TYPE, ProblemDocument


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response; infinite numbers and NaN become null."""
    return Response(to_json(value, inf_nan_mode="null", fallback=str), status, media_type="application/json")


def _problem(text: str) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    return {"description": text, "content": {MEDIA_TYPE: {"schema": schema}}}


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: _problem("The body is not JSON."),
    401: _problem("No key, or one that is not known."),
    429: _problem("The key made more requests than its rate allows; `retry-after` says when to try again."),
    403: _problem("The key, the host or the origin does not allow this."),
    408: _problem("The request did not arrive before its deadline."),
    413: _problem("The body is too large."),
    415: _problem("The body has another media type."),
    422: _problem("An argument breaks its rule; `detail` says which."),
    431: _problem("The address and the headers are too long."),
    500: _problem("The server failed."),
    502: _problem("A service that the server asks failed."),
    503: _problem(
        "Too many requests wait, or another writer holds the index; `Retry-After` says when to ask again."
    ),
    504: _problem("The deadline of the request passed."),
}
"""What every route may answer besides its own answer."""

MISSING: dict[int | str, dict[str, Any]] = {404: _problem("Not found.")}
"""For routes that name something that may not be there."""


class Strict(BaseModel):
    """A request: names that it does not have are refused."""

    model_config = {"extra": "forbid"}
