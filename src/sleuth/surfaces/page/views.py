"""What the templates show: hits, facets, sources and definitions, as values without markup."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sleuth.filters import Compare, to_text
from sleuth.filters.match import leaves
from sleuth.surfaces.hits import Location, excerpt, place_of, title_of
from sleuth.surfaces.page.pieces import LinePiece, lines_of
from sleuth.surfaces.page.reasons import Reason, reason_of, sentence_of
from sleuth.surfaces.plain import is_markdown
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from sleuth.engine import SearchRequest
    from sleuth.engine.answers import Answering
    from sleuth.surfaces.page.state import PageState
    from sleuth.types import RetrievedItem

SNIPPET = 360
"""Characters of a passage that a hit shows."""

CODE_LINES = 14
LONGEST_LINE = 200

_word = re.compile(r"\w+")
_LANGUAGES = {"csharp": "csharp", "jsx": "jsx", "tsx": "tsx"}


@dataclass(frozen=True, slots=True)
class HitView:
    """A result.

    Attributes:
        url: of its source view, at its lines.
        lines: what is shown of it; of code, with line numbers from `first`.
        more: lines of it that are not shown.
        copies: passages that repeat it and are left out.
        folded: further results with the same value of the key that the search collapses by.
        alike: a filter for these and this one; "" if its value is a list.
        why: how its score is computed, where it was asked for, with the sentence `because`.
        others: further passages of the same document.
    """

    number: int
    id: str
    title: str
    place: Location
    url: str
    kind: str
    score: str
    lines: list[list[LinePiece]]
    is_code: bool = False
    first: int = 1
    more: int = 0
    symbol: str = ""
    symbol_url: str = ""
    why: Reason | None = None
    because: str = ""
    others: Sequence[HitView] = ()
    outside: str = ""
    copies: int = 0
    folded: int = 0
    alike: str = ""


@dataclass(frozen=True, slots=True)
class NoteView:
    """What is said about a search.

    Attributes:
        question: the question in the spelling that the note suggests, with the address of its results; "" for none.
    """

    text: str
    question: str = ""
    url: str = ""


def note_of(note: str, state: PageState) -> NoteView:
    """Show a note; one that suggests another spelling leads to the results of that."""
    from sleuth.engine.spelling import misspelling_of

    misspelling = misspelling_of(note)
    if misspelling is None:
        return NoteView(escape_text(note))
    word, nearest = misspelling
    question = _word.sub(lambda match: nearest if match[0] == word else match[0], state.query)
    return NoteView(escape_text(note), escape_text(question), state.asking(question).address())


def shown_place(id: str, metadata: Mapping[str, Any]) -> Location:
    """Return the place of an item, with invisible characters of its path as escapes; web pages have no lines."""
    place = place_of(id, metadata)
    first, _, last = place.lines.partition("-")
    lines = "" if "://" in place.path else first if first == last else place.lines
    return replace(place, path=escape_text(place.path), lines=lines)


def hits_of(
    items: Sequence[RetrievedItem], request: SearchRequest, answering: Answering, first: int
) -> list[HitView]:
    """Show results of a search, each document once: its best passage, with the others below it.

    In a sorted list each passage has its own place.

    Args:
        first: number of the first passage.
    """
    views: dict[str | int, list[HitView]] = {}
    for number, item in enumerate(items, first):
        is_code = item.metadata.get("source_type") == "code"
        document = number if request.sort else item.id if is_code else item.document_id
        view = hit_of(number, item, request.query, answering)
        if item.folded:
            view = replace(view, folded=item.folded, alike=_alike(item, request.collapse or ""))
        views.setdefault(document, []).append(view)
    return [replace(best, others=others) for best, *others in views.values()]


def _alike(item: RetrievedItem, key: str) -> str:
    """Return a filter for the results with the same value of a key; "" for a list."""
    value = leaves(item.metadata).get(key)
    return "" if value is None or isinstance(value, list) else to_text(Compare(key, "eq", value))


def hit_of(number: int, item: RetrievedItem, query: str, answering: Answering) -> HitView:
    """Show a result of a search."""
    metadata = item.metadata
    symbol = str(metadata.get("symbol") or "")
    place = shown_place(item.id, metadata)
    url = "/source?" + urlencode({"id": item.id, "q": query})
    lines, more = _excerpt_lines(item, query, answering)
    source = str(metadata.get("source") or "")
    return HitView(
        number=number,
        id=item.id,
        title=escape_text(title_of(metadata)) or place.name,
        place=place,
        url=f"{url}#cited",
        kind=escape_text(
            str(metadata.get("kind") or metadata.get("source_type") or metadata.get("type") or "")
        ),
        score="" if item.score is None else f"{item.score:.3g}",
        lines=lines,
        is_code=metadata.get("source_type") == "code",
        first=int(metadata.get("start_line") or 1),
        more=more,
        symbol=escape_text(symbol),
        symbol_url="/symbol?" + urlencode({"name": symbol, "q": query}) if symbol else "",
        why=None if item.explanation is None else reason_of(item.explanation),
        because="" if item.explanation is None else sentence_of(item.explanation, query),
        copies=len(item.copies),
        outside=source if source.startswith(("http://", "https://")) else "",
    )


def _excerpt_lines(
    item: RetrievedItem, query: str, answering: Answering
) -> tuple[list[list[LinePiece]], int]:
    """Return the excerpt of a hit as lines with marked matches, and how many lines it leaves out: 0 for prose."""
    part = excerpt(item, query, answering.snippet, width=SNIPPET, lines=CODE_LINES, longest=LONGEST_LINE)
    if item.metadata.get("source_type") == "code":
        return lines_of(part.text, part.spans, language=language(item.metadata)), part.more
    before = "… " if part.start else ""
    after = " …" if part.is_cut else ""
    spans = [(begin + len(before), end + len(before)) for begin, end in part.spans]
    body = part.text if is_markdown(item.metadata) else part.text.replace("\n", " ")
    return lines_of(before + body + after, spans), 0


def language(metadata: Mapping[str, Any]) -> str:
    """Return Pygments' name of the syntax of an item's text."""
    name = str(metadata.get("language") or metadata.get("type") or "")
    if not name:
        name = PurePath(str(metadata.get("source") or "")).suffix.removeprefix(".")
    return _LANGUAGES.get(name, name)
