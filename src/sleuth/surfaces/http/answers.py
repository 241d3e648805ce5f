"""How answers are written: JSON straight from plain values, and the responses that every route documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, Field
from pydantic_core import to_json
from starlette.responses import Response

from sleuth.surfaces.http.problems import MEDIA_TYPE, TITLES, ProblemDocument

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
