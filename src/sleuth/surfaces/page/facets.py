"""What narrows the results: values of metadata, ranges of numbers and dates, and folders."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sleuth.filters import And, Compare, to_text
from sleuth.text.clean import escape_text
from sleuth.text.languages import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from sleuth.code.search.facets import CodeMatches
    from sleuth.engine.selection import Facet
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

KEYS: Final = 8
VALUES: Final = 8
MOST_VALUES: Final = 60
"""A key of texts with more values tells documents apart, and does not group them."""
MOST_PLACES: Final = 1_000
"""Documents whose folders are counted, and values that are counted by range; more show neither."""

_FIRST: Final = ("type", "language", "kind", "lang", "author", "year", "date")
_NOT_FACETS: Final = frozenset({
    "source", "path", "title", "heading", "modified", "size", "content_hash", "row", "member", "page", "pages",
    "start_line", "end_line", "id", "url", "description", "upload",
})  # fmt: skip
"""Keys with a value of its own for nearly every document."""
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d.*)?")
_YEAR, _MONTH = len("2026"), len("2026-11")
_LANGUAGES: Final = {ENGLISH: "English"} | {
    code: rules.analyzer.capitalize() for code, rules in LANGUAGES.items()
}
"""Names of the languages of texts, by the codes that documents have beside languages of code."""
_LEAST_SPAN: Final = 1e-300
_MOST_SPAN: Final = 1e300
"""Between the least and the greatest number of a key that is shown by ranges."""

Counts: TypeAlias = Sequence[tuple[Any, int | None]]
"""Values of a key, and how many documents or files have each; None where that is unknown."""


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


def facets_of(call: Call, state: PageState, code: Mapping[str, CodeMatches]) -> list[FacetGroup]:
    """Return the values of metadata among the matching documents and code, and which ones are selected.

    Args:
        code: what matches in each repository, by its path.
    """
    counts: dict[str, Counts] = {**_counts_of_documents(call, state)}
    folders = [*_folders(counts.pop("source", ()), state), *_folders_of_code(code, state)]
    for name, values in _counts_of_code(code).items():
        counts[name] = _merged(counts.get(name, ()), values)
    names = sorted(counts, key=_place)[:KEYS]
    groups = [group for name in names if (group := _group(name, counts[name], state)) is not None]
    if len(folders) > 1 or any(choice.is_chosen for choice in folders):
        groups.append(FacetGroup("folder", folders))
    shown = {choice.text for group in groups for choice in group.choices}
    others = [_choice(text, text, None, state) for text in state.filters if text not in shown]
    return [*([FacetGroup("chosen", others)] if others else []), *groups]


def _counts_of_documents(call: Call, state: PageState) -> Mapping[str, Sequence[Facet]]:
    """Return the values of the metadata of matching documents, and their sources."""
    if "docs" not in state.sources:
        return {}
    tree = state.request.filter
    names = [
        key.name
        for key in call.engine.metadata_keys(tree)
        if key.name.partition(".")[0] not in _NOT_FACETS and "object" not in key.types
    ]
    keys = [*sorted(names, key=_place)[:KEYS], "source"]
    return call.engine.facets(keys, query=state.query, filter=tree, limit=MOST_PLACES + 1)


def _place(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _counts_of_code(code: Mapping[str, CodeMatches]) -> dict[str, Counts]:
    """Return the languages of files, and the kinds of definitions, under the keys that filters of code have."""
    if not code:
        return {}
    languages = Counter(file.language for matches in code.values() for file in matches.files if file.language)
    kinds: Counts = []
    for matches in code.values():
        kinds = _merged(kinds, [*matches.kinds.items()])
    return {"language": languages.most_common(), "kind": kinds}


def _merged(one: Counts, other: Counts) -> Counts:
    """Return the values of both, the most frequent first; the number is unknown where one of two is."""
    totals: dict[Any, int | None] = dict(one)
    for value, count in other:
        total = totals.get(value, 0)
        totals[value] = None if total is None or count is None else total + count
    return [(value, totals[value]) for value in sorted(totals, key=lambda value: -(totals[value] or 0))]


def _folders_of_code(code: Mapping[str, CodeMatches], state: PageState) -> list[Choice]:
    """Return the folders of matching files of the one repository that has any, or else the repositories."""
    roots = {root: matches.files for root, matches in code.items() if matches.files}
    if len(roots) == 1:
        ((root, files),) = roots.items()
        return _folders([(f"{root}/{file.path}", 1) for file in files], state)
    return [
        _choice(
            f"{root.rpartition('/')[2]}/", to_text(Compare("source", "prefix", f"{root}/")), len(files), state
        )
        for root, files in roots.items()
    ][:VALUES]


def _group(name: str, counts: Counts, state: PageState) -> FacetGroup | None:
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
        labels = _LANGUAGES if name == "language" else {}
        choices = [
            _choice(labels.get(value, str(value)), to_text(Compare(name, "eq", value)), count, state)
            for value, count in top[:VALUES]
        ]
    if len(values) < 2 and not any(choice.is_chosen for choice in choices):
        return None
    return FacetGroup(name, choices, "number" if is_number else "date" if is_date else "")


def _periods(name: str, counts: Counts, state: PageState) -> list[Choice]:
    """Return the latest years of dates, or the latest months if all are of one year."""
    if len(counts) > MOST_PLACES:
        return []
    length = _MONTH if len({date[:_YEAR] for date, _ in counts}) == 1 else _YEAR
    totals: Counter[str] = Counter()
    for date, count in counts:
        totals[date[:length]] += count or 0
    return [
        _choice(period, to_text(Compare(name, "prefix", period)), totals[period], state)
        for period in sorted(totals, reverse=True)[:VALUES]
    ]


def _ranges(name: str, counts: Counts, state: PageState) -> list[Choice]:
    """Return at most `VALUES` ranges of numbers, the highest first."""
    span = max(value for value, _ in counts) - min(value for value, _ in counts)
    if len(counts) > MOST_PLACES or not _LEAST_SPAN < span < _MOST_SPAN:
        return []
    step = _step(span)
    totals: Counter[float] = Counter()
    for value, count in counts:
        totals[value // step] += count or 0
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


def _choice(label: str, text: str, count: int | None, state: PageState) -> Choice:
    return Choice(escape_text(label), text, count, state.toggled(text).address(), text in state.filters)


def _folders(counts: Counts, state: PageState) -> list[Choice]:
    """Return the folders of the matching documents or files below those that they share."""
    if len(counts) > MOST_PLACES:
        return []
    places = [(_folders_above(str(source)), count) for source, count in counts if "://" not in str(source)]
    depth = len(shared_folders(parts for parts, _ in places))
    totals: Counter[str] = Counter()
    for parts, count in places:
        if len(parts) > depth:
            totals["".join(f"{part}/" for part in parts[: depth + 1])] += count or 0
    return [
        _choice(
            f"{folder[:-1].rpartition('/')[2]}/", to_text(Compare("source", "prefix", folder)), count, state
        )
        for folder, count in totals.most_common(VALUES)
    ]


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
