"""What tools show: passages, definitions, uses, commits and texts, as JSON that fits into a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError
from sleuth.surfaces.hits import title_of
from sleuth.text.budget import approximate_tokens
from sleuth.text.clean import escape_json

if TYPE_CHECKING:
    from sleuth.code.repository.commits import Commit
    from sleuth.types import RetrievedItem

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Graded:
    """One result at two lengths, each a JSON object.

    Attributes:
        whole: with its text.
        name: with what is needed to ask for it.
    """

    whole: Fields
    name: Fields


def write(value: Any) -> str:
    """Write compact JSON; invisible characters are escaped."""
    return escape_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def tokens_of(value: Any) -> int:
    """Return about how many tokens a value takes as JSON."""
    return approximate_tokens(write(value))


def fit(graded: Sequence[Graded], room: int) -> tuple[list[Fields], int]:
    """Choose a length for each result: as many names as fit in half of the room, then each whole that fits, best first.

    If the text of the first result does not fit, half of the room holds its first lines, with `lines_left_out`.

    Args:
        graded: best first.
        room: tokens.

    Returns:
        The first results, in order, and how many did not fit.

    Raises:
        ArgumentError: there is no room for the first result.
    """
    names = [tokens_of(item.name) + 1 for item in graded]
    number, remaining = 0, room
    if graded and names[0] > room:
        raise ArgumentError(f"max_tokens must be {names[0] - room} more to hold the first result")
    while number < len(names) and (not number or room - remaining + names[number] <= room // 2):
        remaining -= names[number]
        number += 1
    results: list[Fields] = []
    for item, size in zip(graded[:number], names, strict=False):
        fields = item.whole
        cost = tokens_of(fields) + 1 - size
        if cost > remaining and not results:
            fields = _cut(fields, remaining // 2 + size - 1)
            cost = tokens_of(fields) + 1 - size
        if cost <= remaining:
            remaining -= cost
            results.append(fields)
        else:
            results.append(item.name)
    return results, len(graded) - number


def _cut(whole: Fields, room: int) -> Fields:
    """Return a result with the first lines of its text that fit, and how many are left out; unchanged without text."""
    text = str(whole.get("text", ""))
    frame = {**whole, "text": "", "lines_left_out": len(text.splitlines())}
    end = fit_text(text, room - tokens_of(frame))
    if not end:
        return whole
    return {**whole, "text": text[:end], "lines_left_out": len(text[end:].splitlines())}


def fit_text(text: str, room: int) -> int:
    """Return how many characters of a text fit as JSON: whole lines, or a part of the first line."""
    end = 0
    for line in text.splitlines(keepends=True):
        cost = tokens_of(line) - 2  # without the quotes
        if cost > room:
            break
        room -= cost
        end += len(line)
    if end or not text:
        return end
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens_of(text[:middle]) - 2 <= room else (low, middle - 1)
    return low


UrlOf = Callable[[str, Mapping[str, Any]], str]
"""Returns the address at which a reader sees what an id and metadata describe; "" where there is none."""

PlaceOf = Callable[[str], str]
"""Returns what a client calls an absolute path."""


def web_address(id: str, metadata: Mapping[str, Any]) -> str:
    """Return the address of a page on the web; "" for what has none."""
    source = str(metadata.get("source") or id)
    return source if source.startswith(("http://", "https://")) else ""


def address(id: str, metadata: Mapping[str, Any], url_of: UrlOf) -> dict[str, str]:
    """Return {"url": the address of what an id and metadata describe}, or {} where it has none."""
    url = url_of(id, metadata)
    return {"url": url} if url else {}


def name_of(id: str, metadata: Mapping[str, Any]) -> str:
    """Return what a reader calls a passage: its symbol, heading or title, else its file."""
    source = str(metadata.get("source") or id)
    return title_of(metadata) or (source if "://" in source else source.rpartition("/")[2])


def place(path: str, first: int, last: int) -> str:
    """Return a path with its lines, as `fetch` takes it."""
    return f"{path}:{first}-{last}" if last != first else f"{path}:{first}"


def graded(name: dict[str, Any], **facts: Any) -> Graded:
    """Return a result: by name, and with its text and the facts that say something."""
    known_facts = {
        key: value for key, value in facts.items() if key == "text" or value not in (None, "", [], ())
    }
    return Graded({**name, **known_facts}, name)


def passage(item: RetrievedItem, url_of: UrlOf, place_of: PlaceOf) -> Graded:
    """Return a hit of a search: code by its path and lines, a passage of a document by its id."""
    metadata = item.metadata
    place: dict[str, Any] = {}
    if metadata.get("source_type") != "code":  # an id of code has its lines
        lines = metadata.get("start_line") and f"{metadata['start_line']}-{metadata['end_line']}"
        place = {"lines": lines, "page": metadata.get("page")}
    title = {"id": place_of(item.id), "title": name_of(item.id, metadata)}
    facts = {
        "kind": metadata.get("kind"),
        "copies": list(map(place_of, item.copies)),
        "folded": item.folded or None,
    }
    return graded(title | address(item.id, metadata, url_of), **place, **facts, text=item.text)


def definition(entry: Mapping[str, Any], place: str, text: str) -> Graded:
    """Return a definition, as `Navigator.find_definition` describes it."""
    name = {"id": place, "name": entry["name"], "kind": entry["type"]}
    return graded(name, labels=entry["labels"], text=text)


def reference(use: Mapping[str, Any], place: str, line: str) -> Graded:
    """Return a use of a name, as `Navigator.find_references` describes it."""
    target = use["definition"]
    facts: dict[str, Any] = {"role": use["role"], "confidence": round(use["confidence"], 2)}
    if not use["certain"]:
        facts["certain"] = False
    if target is not None:
        facts["definition"] = f"{target['name']} at {target['file_path']}:{target['line']}"
    return graded({"id": place}, **facts, inside=use["inside"], text=line.strip())


def commit(entry: Commit) -> Graded:
    """Return a commit."""
    name = {"id": entry.id, "title": entry.subject, "date": entry.date, "author": entry.author}
    return graded(name, message=entry.body.strip())
