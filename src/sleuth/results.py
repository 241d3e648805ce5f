"""Results of a retrieval or a search, and their statuses.

States that are expected (an empty query, nothing found) are data here; failures of a system are raised, as
`sleuth.errors.RetrievalError`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from sleuth.types import RetrievedItem

__all__ = [
    "BaseResult",
    "Grade",
    "RetrieveResult",
    "RetrievedItem",
    "ReturnMode",
    "SearchResult",
    "StatusCode",
    "StatusDetail",
]


class StatusCode(StrEnum):
    """The codes that Sleuth itself gives; plugins may give others."""

    EMPTY = "empty"
    """The query is empty or blank."""
    NO_RESULTS = "no_results"
    """The query was searched and nothing was found."""
    DEGRADED = "degraded"
    """A part failed while others answered; the result stands, `detail.context` names the part."""
    INVALID = "invalid"
    """An argument breaks its rule."""


class ReturnMode(StrEnum):
    """How much of a result its caller wants."""

    MINIMAL = "minimal"
    """The response and the ids it used."""
    WITH_ITEMS = "with_items"
    """The retrieved items too."""


class Grade(StrEnum):
    """How well an answer fits its question, in the words that every surface shows."""

    LIKELY = "likely answers"
    """Quotes that are likely to answer; of a model, an answer whose statements are all supported by their citations."""
    MAY_HELP = "may help"
    """Quotes that may help; of a model, an answer with statements that nothing supports."""
    NOTHING_CLOSE = "nothing close"
    """No passage fits the question."""


class StatusDetail(BaseModel):
    """Why a result has its status.

    Attributes:
        code: a `StatusCode`, or a plugin's own.
        message: one sentence for a person.
        context: values for a program.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True)

    code: StatusCode | str
    message: str = ""
    context: dict[str, Any] = Field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {"code": str(self.code), "message": self.message, "context": dict(self.context)}


class BaseResult(BaseModel):
    """A result that says whether it is one.

    Attributes:
        detail: why, for an error; what was missing, for a degraded success.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, defer_build=True)

    status: Literal["success", "error"] = "success"
    detail: StatusDetail | None = None

    def is_ok(self) -> bool:
        """Return whether the other fields may be used."""
        return self.status == "success"

    def is_error(self) -> bool:
        """Return whether `detail` says why there is nothing."""
        return self.status == "error"

    @classmethod
    def success(cls, **fields: Any) -> Self:
        """Build a result with these fields."""
        return cls(status="success", **fields)

    @classmethod
    def fail(cls, detail: StatusDetail | None, **fields: Any) -> Self:
        """Build a result that holds only the reason, and the fields beside it."""
        return cls(status="error", detail=detail, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return self.model_dump()


class RetrieveResult(BaseResult):
    """Ranked passages for a query.

    Attributes:
        items: best first.
        extra: for plugins; `searched_query` is there where a hook rewrote the query, `notes` if there are notes for its
            author.
    """

    query: str = ""
    items: list[RetrievedItem] = Field(default_factory=list)
    extra: dict[str, Any] = Field(default_factory=dict)


class SearchResult(BaseResult):
    """An answer and what it stands on.

    Attributes:
        response: the answer, with citations such as [1] where the synthesizer makes them.
        used_source_ids: ids of retrieved items that the answer used, in order of first use.
        items: the retrieved items, with `ReturnMode.WITH_ITEMS` only.
        extra: for synthesizers; the built-in ones write `synthesizer`, `grade`, `is_cut`, `sources` and `citations`.
    """

    query: str = ""
    response: str = ""
    used_source_ids: list[str] = Field(default_factory=list)
    items: list[RetrievedItem] | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @property
    def grade(self) -> Grade | None:
        """How well the answer fits; None for an error, or if a plugin wrote it."""
        grade = self.extra.get("grade")
        return None if grade is None else Grade(grade)

    def _repr_html_(self) -> str:
        """Return the answer for notebooks, or why there is none, with its sources."""
        from html import escape

        parts = (self.response or (self.detail.message if self.detail else ""), *self.used_source_ids)
        return "".join(f"<pre>{escape(part)}</pre>" for part in parts)
