"""What the address of a page says: the question, the sources, and the values that are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

PAGE = 10
MOST_PAGES = 10
MOST_FILTERS = 20
MOST_DIGITS = 10


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page of results; its address holds all of it.

    Attributes:
        filters: texts of filters, all of which hold.
        sources: those that are asked.
        page: from 1.
        with_answer: whether the answer is written with the page, for readers without script.
        why: number of the result whose score is explained; 0 for none.
    """

    query: str = ""
    filters: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("docs",)
    page: int = 1
    with_answer: bool = False
    why: int = 0

    @classmethod
    def of(cls, parameters: QueryParams, offered: Sequence[str]) -> PageState:
        """Read an address; what it says wrongly is left out."""
        chosen = tuple(name for name in dict.fromkeys(parameters.getlist("in")) if name in offered)
        page, why = (_number(parameters.get(name, "")) for name in ("page", "why"))
        return cls(
            query=parameters.get("q", "").strip(),
            filters=tuple(dict.fromkeys(f for f in parameters.getlist("f") if f.strip()))[:MOST_FILTERS],
            sources=chosen or tuple(offered),
            page=min(max(1, page), MOST_PAGES),
            with_answer=parameters.get("answer") == "1",
            why=why,
        )

    def address(self, path: str = "/", **more: str) -> str:
        """Return the address of this state."""
        pairs = [("q", self.query), *(("f", text) for text in self.filters)]
        pairs += [("in", name) for name in self.sources]
        if self.page > 1:
            pairs.append(("page", str(self.page)))
        if self.with_answer:
            pairs.append(("answer", "1"))
        if self.why:
            pairs.append(("why", str(self.why)))
        return f"{path}?{urlencode([*pairs, *more.items()])}"

    def toggled(self, text: str) -> PageState:
        """Return this state with a filter added, or removed if it is there."""
        rest = tuple(other for other in self.filters if other != text)
        filters = rest if text in self.filters else (*self.filters, text)
        return replace(self, filters=filters, page=1, why=0)

    def at_page(self, page: int) -> PageState:
        """Return this state at another page of results."""
        return replace(self, page=page, why=0)

    def explaining(self, number: int) -> PageState:
        """Return this state with the score of a result explained."""
        return replace(self, why=number)

    def answered(self) -> PageState:
        """Return this state with the answer written into the page."""
        return replace(self, with_answer=True)

    def of_sources(self, names: Sequence[str]) -> PageState:
        """Return this state over other sources."""
        return replace(self, sources=tuple(names), page=1, why=0)


def _number(text: str) -> int:
    """Return the number that a parameter is; 0 where it is none."""
    return int(text) if len(text) < MOST_DIGITS and text.isascii() and text.isdigit() else 0
