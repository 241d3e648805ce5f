"""What narrows the results: values of metadata, ranges of numbers and dates, and folders."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from sleuth.filters import And, Compare, to_text
from sleuth.text import escape_text

if TYPE_CHECKING:
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

KEYS: Final = 8
VALUES: Final = 8
MOST_VALUES: Final = 60
"""A key of texts with more values tells documents apart, and does not group them."""
MOST_PLACES: Final = 1_000
"""Documents whose folders are counted, and values that are counted by range; more show neither."""

_FIRST: Final = ("type", "language", "lang", "author", "year", "date")
_NOT_FACETS: Final = frozenset({
    "source", "path", "title", "heading", "modified", "size", "content_hash", "row", "member", "page", "pages",
    "start_line", "end_line", "id", "url", "description",
})  # fmt: skip
"""Keys with a value of its own for nearly every document."""
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d.*)?")
_YEAR, _MONTH = len("2026"), len("2026-11")
_LEAST_SPAN: Final = 1e-300
_MOST_SPAN: Final = 1e300
"""Between the least and the greatest number of a key that is shown by ranges."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet.

    Attributes:
        text: its filter.
        url: adds it, or takes it away where it is chosen.
    """

    label: str
    text: str
    count: int | None
    url: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A metadata key with its values.

    Attributes:
        range: kind of the fields of a range, "number" or "date"; "" for texts.
    """

    name: str
    choices: list[Choice]
    range: str = ""


def facets_of(call: Call, state: PageState) -> list[FacetGroup]:
    """Return the values of metadata among the matching documents, and which ones are selected."""
    groups: list[FacetGroup] = []
    values: set[str] = set()
    if "docs" in state.sources:
        tree = state.request.filter
        names = [key.name for key in call.engine.metadata_keys(tree) if _is_facet(key.name, key.types)]
        names.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
        counts = call.engine.facets(
            [*names[:KEYS], "source"], query=state.query, filter=tree, limit=MOST_PLACES + 1
        )
        for name in names[:KEYS]:
            if (group := _group(name, counts[name], state)) is not None:
                groups.append(group)
                values |= {choice.text for choice in group.choices}
        if folders := _folders(counts["source"], state):
            groups.append(FacetGroup("folder", folders))
            values |= {choice.text for choice in folders}
    others = [_choice(text, text, None, state) for text in state.filters if text not in values]
    return [*([FacetGroup("chosen", others)] if others else []), *groups]


def _is_facet(name: str, types: tuple[str, ...]) -> bool:
    return name not in _NOT_FACETS and "object" not in types


def _group(name: str, counts: Sequence[tuple[Any, int]], state: PageState) -> FacetGroup | None:
    """Return a key with its values: numbers and dates by value, the newest first, texts by how many have them.

    Many dates are counted by year or by month, and many numbers by ranges.
    """
    values = [value for value, _ in counts]
    is_number = bool(values) and all(type(value) in (int, float) for value in values)
    is_date = bool(values) and all(isinstance(value, str) and _DATE.fullmatch(value) for value in values)
    if not (is_number or is_date) and len(values) > MOST_VALUES:
        return None
    if is_date and len(values) > VALUES:
        choices = _periods(name, counts, state)
    elif is_number and len(values) > 2 * VALUES:
        choices = _ranges(name, counts, state)
    else:
        top = sorted(counts, reverse=True) if is_number or is_date else counts
        choices = [_choice(str(value), _text(name, value), count, state) for value, count in top[:VALUES]]
    if len(values) < 2 and not any(choice.is_chosen for choice in choices):
        return None
    return FacetGroup(name, choices, "number" if is_number else "date" if is_date else "")


def _periods(name: str, counts: Sequence[tuple[str, int]], state: PageState) -> list[Choice]:
    """Return the latest years of dates, or the latest months if all are of one year."""
    if len(counts) > MOST_PLACES:
        return []
    length = _MONTH if len({date[:_YEAR] for date, _ in counts}) == 1 else _YEAR
    totals: Counter[str] = Counter()
    for date, count in counts:
        totals[date[:length]] += count
    return [
        _choice(period, to_text(Compare(name, "prefix", period)), totals[period], state)
        for period in sorted(totals, reverse=True)[:VALUES]
    ]


def _ranges(name: str, counts: Sequence[tuple[float, int]], state: PageState) -> list[Choice]:
    """Return at most `VALUES` ranges of numbers, the highest first."""
    span = max(value for value, _ in counts) - min(value for value, _ in counts)
    if len(counts) > MOST_PLACES or not _LEAST_SPAN < span < _MOST_SPAN:
        return []
    step = _step(span)
    totals: Counter[float] = Counter()
    for value, count in counts:
        totals[value // step] += count
    choices = []
    for number in sorted(totals, reverse=True):
        low, high = (round(end * step, 12) for end in (number, number + 1))
        tree = And((Compare(name, "gte", low), Compare(name, "lt", high)))
        choices.append(_choice(f"{low:,.12g} to {high:,.12g}", to_text(tree), totals[number], state))
    return choices


def _step(span: float) -> float:
    """Return the width of ranges: 1, 2 or 5 times a power of ten, so that `VALUES` of them hold all numbers."""
    power: float = 10 ** math.floor(math.log10(span / VALUES))
    return next(factor * power for factor in (1, 2, 5, 10) if span / (factor * power) <= VALUES - 1)


def _text(name: str, value: Any) -> str:
    return to_text(Compare(name, "eq", value))


def _choice(label: str, text: str, count: int | None, state: PageState) -> Choice:
    return Choice(escape_text(label), text, count, state.toggled(text).address(), text in state.filters)


def _folders(counts: Sequence[tuple[Any, int]], state: PageState) -> list[Choice]:
    """Return the folders of the matching documents below those that they share."""
    if len(counts) > MOST_PLACES:
        return []
    places = [(_folders_above(str(source)), count) for source, count in counts if "://" not in str(source)]
    depth = len(shared_folders(parts for parts, _ in places))
    totals: Counter[str] = Counter()
    for parts, count in places:
        if len(parts) > depth:
            totals["".join(f"{part}/" for part in parts[: depth + 1])] += count
    choices = [
        _choice(f"{folder.split('/')[depth]}/", to_text(Compare("source", "prefix", folder)), count, state)
        for folder, count in totals.most_common(VALUES)
    ]
    return choices if len(choices) > 1 or any(choice.is_chosen for choice in choices) else []


def shared_folders(paths: Iterable[Sequence[str]]) -> list[str]:
    """Return the folders, the outermost first, that paths of folders begin with alike."""
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return [level[0] for level in levels]


def _folders_above(source: str) -> list[str]:
    """Return the folders that a file is in, the outermost first; the root of the disk belongs to the first one."""
    folders = source.rpartition("/")[0]
    if not folders.startswith("/"):
        return folders.split("/") if folders else []
    first, *others = folders.removeprefix("/").split("/")
    return [f"/{first}", *others]
