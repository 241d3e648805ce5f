"""Why a hit has its score, and what each leg or slice of a retrieval did. Indexing imports no more than this."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a hit has its score: a tree whose parts sum, scale or fuse into the value above them.

    Attributes:
        name: what this part is: a term, a leg, a fusion, a boost.
        value: its score; higher is better.
        formula: how `value` follows from `facts` and `parts`, in words a reader can check.
        facts: numbers and names that entered the formula, such as tf, df, idf, rank, weight, share.
    """

    name: str
    value: float
    formula: str = ""
    facts: Mapping[str, float | int | str] = field(default_factory=dict)
    parts: tuple[Explanation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as plain dicts and lists, fit for JSON."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return values | {"facts": dict(self.facts), "parts": [part.to_dict() for part in self.parts]}

    def _repr_html_(self) -> str:
        """Return the tree as a list for notebooks."""
        from html import escape

        parts = "".join(f"<li>{part._repr_html_()}</li>" for part in self.parts)
        return f"{escape(f'{self.name} {self.value:.3g}: {self.formula} {dict(self.facts)}')}<ul>{parts}</ul>"

    def scores_of(self, legs: Container[str]) -> Iterator[tuple[str, float]]:
        """Yield the score that each of some legs gives the hit, by its name."""
        if self.name in legs:
            yield self.name, float(self.facts.get("score", self.value))
            return
        for part in self.parts:
            yield from part.scores_of(legs)


@dataclass(frozen=True, slots=True)
class PartReport:
    """What one part of a retrieval (a leg, a slice) did.

    Attributes:
        status: "ok"; "failed", with `error`; "abandoned" at its deadline; "skipped" with the reason in `error`.
        seconds: wall time until it answered, failed or was abandoned.
        hits: candidates it returned.
        exception: what a failed part raised, for callers that raise it again; never compared or printed.
    """

    name: str
    status: Literal["ok", "failed", "abandoned", "skipped"] = "ok"
    seconds: float = 0.0
    hits: int = 0
    error: str = ""
    exception: BaseException | None = field(default=None, compare=False, repr=False)

    def without_details(self) -> PartReport:
        """Return the report without what its error says of servers and files, which are not for every reader."""
        if self.status != "failed":
            return self
        return replace(self, error=HIDDEN_ERROR, exception=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "exception"}


HIDDEN_ERROR: Final = "it failed; the log of the server says why"
