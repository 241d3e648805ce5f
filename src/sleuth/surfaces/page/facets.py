"""What narrows the results: values of metadata, ranges of numbers and dates, and folders."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

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

_FIRST: Final = ("type", "language", "kind", "lang", "author", "year", "date")
"""Keys that come first, with all of their values; of others, a value of a single document groups nothing."""
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

Counts: TypeAlias = dict[Any, int | None]
"""How many documents or files have each value of a key; None where that is unknown."""


def facets_of(call: Call, state: PageState, code: Mapping[str, CodeMatches]) -> list[dict[str, Any]]:
    """Return the values of metadata among the matching documents and code, and which ones are selected.

    Args:
        code: what matches in each repository, by its path.

    Returns:
        For each key its `name`, its `choices` with `label`, `url`, `count` and `is_chosen`, and its `range`: the kind
        of the fields of a range, "number" or "date", or "" for texts.
    """
    counts = {name: dict(values) for name, values in _counts_of_documents(call, state).items()}
    places = counts.pop("source", {})
    for root, matches in code.items():
        _add(
            counts.setdefault("language", {}), ((file.language, 1) for file in matches.files if file.language)
        )
        _add(counts.setdefault("kind", {}), matches.kinds.items())
        places |= {f"{root}/{file.path}": 1 for file in matches.files}
    groups = [_group(name, counts[name], state) for name in sorted(counts, key=_place)[:KEYS]]
    if len(places) <= MOST_PLACES:
        groups.append(_folders({path: count or 0 for path, count in places.items()}, state))
    groups = [group for group in groups if group["choices"] or group["range"]]
    texts = {choice["text"] for group in groups for choice in group["choices"]}
    choices = [_choice(text, text, None, state) for text in state.filters if text not in texts]
    return [*([{"name": "chosen", "choices": choices, "range": ""}] if choices else []), *groups]


def _counts_of_documents(call: Call, state: PageState) -> Mapping[str, Sequence[tuple[Any, int]]]:
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


def _add(totals: Counts, counts: Iterable[tuple[Any, int | None]]) -> None:
    """Add counts to totals; a total is unknown where one of its counts is."""
    for value, count in counts:
        total = totals.get(value, 0)
        totals[value] = None if total is None or count is None else total + count


def _group(name: str, counts: Counts, state: PageState) -> dict[str, Any]:
    """Return a key with its values: numbers and dates by value, the newest first, texts by how many have them.

    Many numbers and dates have their range alone.
    """
    is_number = all(type(value) in (int, float) for value in counts)
    is_date = all(isinstance(value, str) and _DATE.fullmatch(value) for value in counts)
    values = [value for value, count in counts.items() if count != 1 or name in _FIRST]
    if is_number or is_date:
        values = sorted(values, reverse=True) if len(values) <= 2 * VALUES else []
    elif len(counts) > MOST_VALUES:
        values = []
    else:
        values.sort(key=lambda value: -(counts[value] or 0))
    labels = _LANGUAGES if name == "language" else {}
    choices = [
        _choice(labels.get(value, str(value)), to_text(Compare(name, "eq", value)), counts[value], state)
        for value in values[:VALUES]
    ]
    if len(counts) < 2 and not any(choice["is_chosen"] for choice in choices):
        return {"name": name, "choices": [], "range": ""}
    return {"name": name, "choices": choices, "range": "number" if is_number else "date" if is_date else ""}


def _folders(places: Mapping[str, int], state: PageState) -> dict[str, Any]:
    """Return the folders of matching documents and files below the one that all are in."""
    under = shared_folder(path for path in places if "://" not in path)
    folders = sorted(folders_below(places, under), key=itemgetter(1), reverse=True)
    choices = []
    for folder, count in folders[:VALUES]:
        label = f"{folder.split('/')[-2]}/" if folder.startswith("/") and not under else folder[len(under) :]
        choices.append(_choice(label, to_text(Compare("source", "prefix", folder)), count, state))
    is_choice = len(choices) > 1 or any(choice["is_chosen"] for choice in choices)
    return {"name": "folder", "choices": choices if is_choice else [], "range": ""}


def _choice(label: str, text: str, count: int | None, state: PageState) -> dict[str, Any]:
    url, is_chosen = state.toggled(text).address(), text in state.filters
    return {"label": label, "text": text, "count": count, "url": url, "is_chosen": is_chosen}
