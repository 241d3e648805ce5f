"""What narrows the results: values of metadata, ranges of numbers and dates, and folders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sleuth.filters import Compare, to_text
from sleuth.surfaces.page.places import folders_below, shared_folder
from sleuth.text.languages import ENGLISH, LANGUAGES

if TYPE_CHECKING:
    from sleuth.code.search.facets import CodeMatches
    from sleuth.surfaces.http import Call
    from sleuth.surfaces.page.state import PageState

KEYS: Final = 8
VALUES: Final = 8
MOST_VALUES: Final = 60
"""A key of texts with more values tells documents apart, and does not group them."""
MOST_PLACES: Final = 1_000
"""Files whose folders are counted; with more, no folders are shown."""

_KINDS: Final = ("type", "language", "kind", "lang")
"""Keys whose values are all shown; of others, a value of a single document groups nothing."""
_FIRST: Final = (*_KINDS, "author", "year", "date")
"""Keys that come first."""
_NOT_FACETS: Final = frozenset({
    "source", "path", "title", "heading", "modified", "size", "content_hash", "row", "member", "page", "pages",
    "start_line", "end_line", "id", "url", "description", "upload",
})  # fmt: skip
"""Keys with a value of its own for nearly every document."""
_DATE: Final = re.compile(r"\d{4}-\d\d(-\d\d.*)?")
_LANGUAGES: Final = {ENGLISH: "English"} | {
    code: rules.analyzer.capitalize() for code, rules in LANGUAGES.items()
}
"""Names of the languages of texts, by the codes that documents have beside languages of code."""


class Choice(NamedTuple):
    """A value that narrows the results.

    Attributes:
        text: the filter that does.
        total: documents and files that have it; None where that is unknown.
    """

    label: str
    text: str
    total: int | None


class Group(NamedTuple):
    """The choices of a key.

    Attributes:
        range: the kind of the fields of a range, "number" or "date", or "" for texts.
    """

    name: str
    choices: Sequence[Choice]
    range: str = ""


def facets_of(call: Call, state: PageState, code: Mapping[str, CodeMatches]) -> list[Group]:
    """Return the values of metadata among the matching documents and code.

    Args:
        code: what matches in each repository, by its path.
    """
    counts: dict[str, dict[Any, int | None]] = {}
    if "docs" in state.sources:
        tree = state.request.filter
        names = [
            key.name
            for key in call.engine.metadata_keys(tree)
            if key.name.partition(".")[0] not in _NOT_FACETS and "object" not in key.types
        ]
        keys = [*sorted(names, key=_place)[:KEYS], "source"]
        facets = call.engine.facets(keys, query=state.query, filter=tree, limit=MOST_PLACES + 1)
        counts = {name: dict(values) for name, values in facets.items()}
    places = {path: count or 0 for path, count in counts.pop("source", {}).items()}
    for root, matches in code.items():
        languages = Counter(file.language for file in matches.files if file.language)
        for name, totals in (("language", languages), ("kind", matches.kinds)):
            values = counts.setdefault(name, {})
            for value, count in totals.items():
                total = values.get(value, 0)
                values[value] = None if total is None or count is None else total + count
        places |= {f"{root}/{file.path}": 1 for file in matches.files}
    groups = [_group(name, counts[name], state) for name in sorted(counts, key=_place)[:KEYS]]
    if len(places) <= MOST_PLACES:
        groups.append(_folders(places, state))
    groups = [group for group in groups if group.choices or group.range]
    texts = {choice.text for group in groups for choice in group.choices}
    chosen = [Choice(text, text, None) for text in state.filters if text not in texts]
    return [*([Group("chosen", chosen)] if chosen else []), *groups]


def _place(name: str) -> tuple[int, str]:
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)


def _group(name: str, counts: Mapping[Any, int | None], state: PageState) -> Group:
    """Return a key with its values: numbers and dates by value, the newest first, texts by how many have them.

    Many numbers and dates have their range alone.
    """
    is_number = all(type(value) in (int, float) for value in counts)
    is_date = all(isinstance(value, str) and _DATE.fullmatch(value) for value in counts)
    values = [value for value, count in counts.items() if count != 1 or name in _KINDS]
    if is_number or is_date:
        values = sorted(values, reverse=True) if len(values) <= 2 * VALUES else []
    elif len(counts) > MOST_VALUES:
        values = []
    else:
        values.sort(key=lambda value: -(counts[value] or 0))
    labels = _LANGUAGES if name == "language" else {}
    choices = [
        Choice(labels.get(value, str(value)), to_text(Compare(name, "eq", value)), counts[value])
        for value in values[:VALUES]
    ]
    if len(counts) < 2 and not any(choice.text in state.filters for choice in choices):
        return Group(name, [])
    return Group(name, choices, "number" if is_number else "date" if is_date else "")


def _folders(places: Mapping[str, int], state: PageState) -> Group:
    """Return the folders of matching documents and files below the one that all are in."""
    under = shared_folder(path for path in places if "://" not in path)
    choices = []
    for folder, count in sorted(folders_below(places, under), key=itemgetter(1), reverse=True)[:VALUES]:
        label = f"{folder.split('/')[-2]}/" if folder.startswith("/") and not under else folder[len(under) :]
        choices.append(Choice(label, to_text(Compare("source", "prefix", folder)), count))
    is_choice = len(choices) > 1 or any(choice.text in state.filters for choice in choices)
    return Group("folder", choices if is_choice else [])
