"""What the address of a page says: the question, the sources, and the values that are chosen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from sleuth.arguments import MOST_QUERY
from sleuth.engine import SearchRequest
from sleuth.filters import Compare, all_of, as_filter, to_text
from sleuth.surfaces.http.routes import check_fields

MOST_PAGES = 10
MOST_FILTERS = 20
MOST_DIGITS = 10
MOST_TURNS = 6
_DECIMAL = re.compile(r"-?\d{1,15}(\.\d{1,15})?")

OPTIONS = {
    name: schema
    for name, schema in SearchRequest.properties().items()
    if name not in ("query", "filter", "sources", "explain")
}
"""Schemas of the options that an address writes by their name; the page has its own parts for the others."""

_LISTS = {"f", "in", "after", *(name for name, schema in OPTIONS.items() if schema.get("type") == "array")}
_OF_RESULTS = {"q", "page", "answer", "why", "said", "follow", "key", "low", "high"}
_OF_OTHER_PAGES = {"id", "text", "name", "under"}


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page of results; its address holds all of it.

    Attributes:
        filters: texts of filters, all of which hold.
        sources: those that are asked.
        page: from 1.
        with_answer: whether the answer is written with the page, for readers without script.
        why: number of the result whose score is explained; 0 for none.
        after: earlier questions of the conversation, the oldest first.
        said: the question as its reader wrote it, where it follows others and was rewritten to stand alone.
        options: further options of the search, by name, as the address writes them.
    """

    query: str = ""
    filters: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("docs",)
    page: int = 1
    with_answer: bool = False
    why: int = 0
    after: tuple[str, ...] = ()
    said: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def request(self) -> SearchRequest:
        """What the page asks; its search syntax is read, unless the address says otherwise.

        Raises:
            ArgumentError: an option that breaks its rule.
            FilterError: a text that is no filter; says where.
        """
        values: dict[str, Any] = {"syntax": True, "explain": True}
        for name, text in self.options:
            is_list = OPTIONS[name].get("type") == "array"
            values[name] = [*values.get(name, ()), *text.replace(",", " ").split()] if is_list else text
        tree = all_of(*(tree for text in self.filters if (tree := as_filter(text)) is not None))
        request = SearchRequest.read({"query": self.query, "sources": list(self.sources), **values})
        return replace(request, filter=tree)

    @classmethod
    def of(cls, parameters: QueryParams, offered: Sequence[str]) -> PageState:
        """Read an address.

        Raises:
            ArgumentError: a parameter that no page takes, or a second value of one that has no list.
        """
        names = {*OPTIONS, *_LISTS, *_OF_RESULTS, *_OF_OTHER_PAGES}
        check_fields(parameters, names, _LISTS, "query parameters")
        texts = (parameters.get(name, "") for name in ("page", "why"))
        page, why = (
            int(text) if len(text) < MOST_DIGITS and text.isascii() and text.isdigit() else 0
            for text in texts
        )
        filters = [text for text in parameters.getlist("f") if text.strip()]
        key = parameters.get("key", "").strip()  # of a form of a range, with the lowest and the highest value
        bounds: tuple[tuple[str, Literal["gte", "lte"]], ...] = (("low", "gte"), ("high", "lte"))
        for name, operator in bounds:
            text = parameters.get(name, "").strip()
            if key and text:
                value: str | float = float(text) if _DECIMAL.fullmatch(text) else text
                whole_number = isinstance(value, float) and value.is_integer()
                filters.append(to_text(Compare(key, operator, int(value) if whole_number else value)))
        return cls(
            query=parameters.get("q", "").strip(),
            filters=tuple(dict.fromkeys(filters))[:MOST_FILTERS],
            sources=tuple(dict.fromkeys(parameters.getlist("in"))) or tuple(offered),
            page=min(max(1, page), MOST_PAGES),
            with_answer=parameters.get("answer") == "1",
            why=why,
            after=tuple(text for text in parameters.getlist("after") if text.strip())[-MOST_TURNS:],
            said=parameters.get("said", "").strip()[:MOST_QUERY],
            options=tuple(
                (name, text)
                for name in OPTIONS
                for text in parameters.getlist(name)[:MOST_FILTERS]
                if text.strip()
            ),
        )

    def address(self, path: str = "/", **more: str) -> str:
        """Return the address of this state."""
        pairs = [("q", self.query), *self.fields(), *(("after", text) for text in self.after)]
        pairs += [("said", self.said)] if self.said else []
        pairs += self.options
        page = self.page if self.page > 1 else 0
        numbers = {"page": page, "answer": int(self.with_answer), "why": self.why}
        pairs += [(name, str(number)) for name, number in numbers.items() if number]
        return f"{path}?{urlencode([*pairs, *more.items()])}"

    def but(self, **changes: Any) -> PageState:
        """Return this state with other values, at the first page of results, without an explained score."""
        return replace(self, **{"page": 1, "why": 0} | changes)

    def toggled(self, text: str) -> PageState:
        """Return this state with a filter added, or removed if it is there."""
        filters = tuple(filter_text for filter_text in self.filters if filter_text != text)
        return self.but(filters=filters if text in self.filters else (*self.filters, text))

    def asking(self, query: str) -> PageState:
        """Return this state with another question, which follows none."""
        return self.but(query=query, after=(), said="")

    def limits(self) -> str:
        """Name the filters and the options, where there are some."""
        parts = (("the filters", self.filters), ("the options", self.options))
        return " and ".join(name for name, values in parts if values)

    def with_option(self, name: str, text: str) -> PageState:
        """Return this state with another value of an option; without the option where the text is ""."""
        options = tuple(option for option in self.options if option[0] != name)
        return self.but(options=(*options, (name, text)) if text else options)

    def option(self, name: str) -> str:
        """Return the value of an option as the address writes it; "" without the option."""
        return next((text for key, text in self.options if key == name), "")

    def fields(self) -> list[tuple[str, str]]:
        """Return what a form keeps of this state beside its question."""
        return [*(("f", text) for text in self.filters), *(("in", name) for name in self.sources)]
