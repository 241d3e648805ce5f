"""What tools show: passages, definitions, uses, commits and texts, as JSON that fits into a budget of tokens."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sleuth.errors import ArgumentError
from sleuth.surfaces.hits import snippet_of, title_of
from sleuth.text.budget import approximate_tokens, longest_prefix
from sleuth.text.clean import escape_json
from sleuth.types import Explanation, RetrievedItem

Fields = Mapping[str, Any]

SHARE = 18
"""Of the room of a search, what a piece takes at most: 80 tokens of 1,500, the head of a function and a few lines."""


def write(value: Any) -> str:
    """Write compact JSON; invisible characters are escaped."""
    return escape_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def tokens_of(value: Any) -> int:
    """Return about how many tokens a value takes as JSON."""
    return approximate_tokens(write(value))


def fit(results: Sequence[Fields], room: int) -> list[Fields]:
    """Return the first results that fit; if not even the first one does, it with the first lines of its text.

    Raises:
        ArgumentError: there is no room for the first result without its text.
    """
    shown: list[Fields] = []
    for result in results:
        cost = tokens_of(result) + 1
        if cost > room and not shown:
            of_text = room - tokens_of({**result, "text": ""}) - 1
            if of_text < 0:
                raise ArgumentError(f"max_tokens must be {-of_text} more to hold the first result")
            return [{**result, "text": cut(str(result.get("text", "")), of_text)}]
        if cost > room:
            break
        room -= cost
        shown.append(result)
    return shown


def by_worth(hits: Sequence[RetrievedItem], around: Iterable[RetrievedItem]) -> list[RetrievedItem]:
    """Return hits and other pieces of their files, the first hit first, then by what they are worth.

    A definition is worth its score in the search of code; the n-th passage of a document, in the m-th file, 1 / √(nm).
    """
    ranks = {file: rank for rank, file in enumerate(dict.fromkeys(map(file_of, hits)), 1)}
    items = {item.id: item for item in (*hits, *around) if file_of(item) in ranks}
    counts, worth = Counter[str](), dict[str, float]()
    for id, item in items.items():
        counts[file := file_of(item)] += 1
        score = score_of_definition(item.explanation) if item.explanation else None
        worth[id] = 1 / math.sqrt(counts[file] * ranks[file]) if score is None else score
    return sorted(items.values(), key=lambda item: (item.id != hits[0].id, -worth[item.id]))


def score_of_definition(explanation: Explanation) -> float | None:
    """Return what a definition had before its list was fused with others, 0 to 1; None for other hits."""
    if explanation.name == "definition":
        return explanation.value
    return next((score for score in map(score_of_definition, explanation.parts) if score is not None), None)


def spread(
    hits: Sequence[RetrievedItem],
    around: Iterable[RetrievedItem],
    results: Sequence[Fields],
    query: str,
    room: int,
) -> list[Fields]:
    """Return what is shown of the hits of a search, and of other pieces of their files, under `more`.

    As many names as fit in half of the room come first, then pieces by their worth, each in a `SHARE` of the room. The
    text of the first hit may take a third of the room, and has what the others leave.

    Args:
        around: pieces of the files of hits.
        results: the hits as they are shown whole.

    Raises:
        ArgumentError: there is no room for the name of the first hit.
    """
    names = [{key: result[key] for key in ("id", "title", "url") if key in result} for result in results]
    shown: list[dict[str, Any]] = []
    remaining = room
    for name in names:
        size = tokens_of(name) + 1
        if size > remaining and not shown:
            raise ArgumentError(f"max_tokens must be {size - remaining} more to hold the first result")
        if shown and room - remaining + size > room // 2:
            break
        remaining -= size
        shown.append(name)
    frames = [
        tokens_of({**result, "text": ""}) - tokens_of(name) + 1
        for result, name in zip(results, names, strict=True)
    ]
    places = {item.id: at for at, item in enumerate(hits)}
    first_places = {file_of(item): places[item.id] for item in reversed(hits)}
    reserved = min(frames[0] + tokens_inside(hits[0].text), room // 3, remaining) if hits else 0
    remaining -= reserved
    for item in by_worth(hits, around)[1:]:
        at = places.get(item.id, first_places[file_of(item)])
        if at >= len(shown):
            continue
        label = "" if item.id in places else f"{label_of(item)}\n"
        frame = tokens_of({"more": [label]}) if label else frames[at]
        text = brief(item, query, min(remaining, room // SHARE) - frame)
        if not text:
            continue
        remaining -= frame + tokens_inside(text)
        if label:
            shown[at].setdefault("more", []).append(f"{label}{text}")
        else:
            shown[at] = {**results[at], "text": text, **shown[at]}
    if hits and (text := cut(hits[0].text, remaining + reserved - frames[0])):
        shown[0] = {**results[0], "text": text, **shown[0]}
    return list(shown)


def brief(item: RetrievedItem, query: str, room: int) -> str:
    """Return a piece in so many tokens: its text, or the head and the lines that show best why it matches."""
    if tokens_inside(item.text) <= room:
        return item.text
    signature = str(item.metadata.get("signature") or "").partition("\n")[0]
    start = item.text.rfind("\n", 0, max(0, item.text.find(signature))) + 1
    head = item.text[start:].partition("\n")[0]
    of_lines = room - tokens_inside(f"{head}\n…\n")
    widths = (3 * of_lines, 2 * of_lines, of_lines)  # a token has one to three characters
    for width in widths if of_lines > 0 else ():
        window = snippet_of(query, item, width=width)
        begin = item.text.rfind("\n", 0, window.start) + 1
        if begin <= start + len(head) + 1:
            break
        lines = item.text[begin : window.start + len(window.text)]
        if tokens_inside(lines) <= of_lines:
            return f"{head}\n…\n{lines}"
    return cut(item.text[start:], room)


def cut(text: str, room: int) -> str:
    """Return the first lines of a text that fit as JSON, and "…" where it goes on; "" if nothing fits."""
    if (end := fit_text(text, room)) == len(text):
        return text
    end = fit_text(text, room - 2)
    return f"{text[:end].rstrip()}\n…" if end else ""


def fit_text(text: str, room: int) -> int:
    """Return how many characters of a text fit as JSON: whole lines, or a part of the first line."""
    end = 0
    for line in text.splitlines(keepends=True):
        room -= tokens_inside(line)
        if room < 0:
            break
        end += len(line)
    if end or not text:
        return end
    return len(longest_prefix(text, room + tokens_inside(line), tokens_inside))


def tokens_inside(text: str) -> int:
    """Return about how many tokens a text takes in a JSON string, without the quotes."""
    return approximate_tokens(write(text)[1:-1])


UrlOf = Callable[[str, Mapping[str, Any]], str]
"""Returns the address at which a reader sees what an id and metadata describe; "" where there is none."""


def file_of(item: RetrievedItem) -> str:
    """Return the file or the document of a hit."""
    return str(item.metadata.get("source") or item.document_id)


def label_of(item: RetrievedItem) -> str:
    """Return what follows the path in the id of a hit: its lines, as `fetch` takes them, or its number."""
    if item.metadata.get("source_type") == "code":
        return place("", item.metadata["start_line"], item.metadata["end_line"])
    return item.id.removeprefix(file_of(item))


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


def known(name: Fields, /, **facts: Any) -> Fields:
    """Return a result: its name, its text and the facts that say something."""
    return {
        **name,
        **{key: fact for key, fact in facts.items() if key == "text" or fact not in (None, "", [], ())},
    }


def passage(item: RetrievedItem, url_of: UrlOf, place_of: Callable[[str], str]) -> Fields:
    """Return a hit of a search: code by its path and lines, a passage of a document by its id.

    Args:
        place_of: returns what a client calls an absolute path.
    """
    metadata = item.metadata
    place: dict[str, Any] = {}
    if metadata.get("source_type") != "code":  # an id of code has its lines
        lines = metadata.get("start_line") and f"{metadata['start_line']}-{metadata['end_line']}"
        place = {"lines": lines, "page": metadata.get("page")}
    title = {"id": place_of(item.id), "title": name_of(item.id, metadata)}
    facts = {"copies": list(map(place_of, item.copies)), "folded": item.folded or None}
    return known(title | address(item.id, metadata, url_of), **place, **facts, text=item.text)
