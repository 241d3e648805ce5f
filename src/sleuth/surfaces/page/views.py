"""What the templates show: hits, facets, sources and definitions, as values without markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sleuth.surfaces.hits import Location, excerpt, matches_in, place_of, title_of
from sleuth.surfaces.page.pieces import LinePiece, lines_of
from sleuth.text import escape_text

if TYPE_CHECKING:
    from sleuth.engine import Answering
    from sleuth.types import Explanation, RetrievedItem

SNIPPET = 360
"""Characters of a passage that a hit shows."""

CODE_LINES = 14
LONGEST_LINE = 200
MOST_LINES = 2_000
"""Lines before and after what is cited that a source view shows."""

_LANGUAGES = {"csharp": "csharp", "jsx": "jsx", "tsx": "tsx"}


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of why a hit has its score, as text.

    Attributes:
        facts: names and values, in one line: a template that writes each takes as long as the search.
    """

    name: str
    value: str
    formula: str
    facts: str
    parts: list[Reason]


@dataclass(frozen=True, slots=True)
class HitView:
    """A result.

    Attributes:
        url: of its source view, at its lines.
        lines: what is shown of it; of code, with line numbers from `first`.
        more: lines of it that are not shown.
        copies: passages that repeat it and are left out.
        why: how its score comes about, where it was asked for.
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
    outside: str = ""
    copies: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a facet: the link that adds it, or takes it away where it is chosen."""

    label: str
    count: int | None
    url: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A metadata key with its values."""

    name: str
    choices: list[Choice]


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source view."""

    number: int
    pieces: list[LinePiece]
    is_cited: bool


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document or a file, with the lines that are cited.

    Attributes:
        lines: in order, at most `MOST_LINES` before and after what is cited.
        download: address of the original at the page that is cited, where it is a PDF.
    """

    title: str
    place: Location
    lines: list[SourceLine]
    facts: list[tuple[str, str]] = field(default_factory=list)
    download: str = ""


def shown_place(id: str, metadata: Mapping[str, Any]) -> Location:
    """Return the place of an item, with invisible characters of its path as escapes."""
    place = place_of(id, metadata)
    return replace(place, path=escape_text(place.path))


def hit_of(number: int, item: RetrievedItem, query: str, sources: Answering) -> HitView:
    """Show a result of a search."""
    metadata = item.metadata
    symbol = str(metadata.get("symbol") or "")
    place = shown_place(item.id, metadata)
    url = "/source?" + urlencode({"id": item.id, "q": query})
    lines, more = _shown(item, query, sources)
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
        symbol_url="/symbol?" + urlencode({"name": symbol}) if symbol else "",
        why=None if item.explanation is None else reason_of(item.explanation),
        copies=len(item.copies),
        outside=source if source.startswith(("http://", "https://")) else "",
    )


def reason_of(explanation: Explanation) -> Reason:
    """Return an explanation as text."""
    facts = (
        f"{name}\N{NO-BREAK SPACE}{f'{value:.4g}' if isinstance(value, int | float) else value}"
        for name, value in explanation.facts.items()
    )
    return Reason(
        explanation.name,
        f"{explanation.value:.4g}",
        explanation.formula,
        ", ".join(facts),
        [reason_of(part) for part in explanation.parts],
    )


def _shown(item: RetrievedItem, query: str, sources: Answering) -> tuple[list[list[LinePiece]], int]:
    """Return the lines of its text that a hit shows, and the number of lines that it omits."""
    part = excerpt(item, query, sources, width=SNIPPET, lines=CODE_LINES, longest=LONGEST_LINE)
    if item.metadata.get("source_type") == "code":
        return lines_of(part.text, part.spans, language=language(item.metadata)), part.more
    before = "… " if part.start else ""
    after = " …" if part.start + len(part.text) < len(item.text) else ""
    spans = [(begin + len(before), end + len(before)) for begin, end in part.spans]
    return lines_of(before + part.text.replace("\n", " ") + after, spans), 0


def source_view(
    item: RetrievedItem,
    numbered: Mapping[int, str],
    cited: range,
    query: str,
    sources: Answering,
    *,
    title: str,
    download: str,
) -> SourceView:
    """Show a document or file.

    Args:
        item: what is cited.
        numbered: the lines of the whole, by number.
        cited: numbers of the lines that are cited.
    """
    middle = cited.start
    begin, end = min(numbered, default=1), max(numbered, default=0)
    numbers = range(max(begin, middle - MOST_LINES), min(end, middle + MOST_LINES) + 1)
    text = "\n".join(numbered.get(number, "") for number in numbers)
    spans = matches_in(text, query, sources, item)
    pieces = lines_of(text, spans, language=language(item.metadata))
    lines = [SourceLine(number, line, number in cited) for number, line in zip(numbers, pieces, strict=True)]
    return SourceView(
        escape_text(title), shown_place(item.id, item.metadata), lines, _facts(item.metadata), download
    )


_SHOWN_ELSEWHERE = frozenset(
    {"source", "path", "title", "start_line", "end_line", "page", "heading", "repository", "repository_path"}
)


def _facts(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    shown = {key: value for key, value in metadata.items() if key not in _SHOWN_ELSEWHERE}
    return [(escape_text(str(key)), escape_text(str(value))[:300]) for key, value in sorted(shown.items())]


def language(metadata: Mapping[str, Any]) -> str:
    """Return Pygments' name of the syntax of an item's text."""
    name = str(metadata.get("language") or metadata.get("type") or "")
    if not name:
        name = PurePath(str(metadata.get("source") or "")).suffix.removeprefix(".")
    return _LANGUAGES.get(name, name)


def numbered_lines(passages: Sequence[RetrievedItem]) -> tuple[dict[int, str], dict[str, range]]:
    """Return the lines of a document by number, and the numbers of each passage's lines by its id.

    Passages may overlap. Those without lines of a file are numbered from 1 as they follow each other.
    """
    from sleuth.answer import join_overlapping

    lines: dict[int, str] = {}
    numbers: dict[str, range] = {}
    start, before = 1, ""
    for item in passages:
        joined = join_overlapping(before, item.text) if before else item.text
        start += joined.count("\n", 0, len(joined) - len(item.text))
        start = int(item.metadata.get("start_line") or start + (len(joined) > len(before) + len(item.text)))
        before = item.text
        texts = before.split("\n")
        numbers[item.id] = range(start, start + len(texts))
        for number, line in enumerate(texts, start):
            previous = lines.get(number)
            if previous is None or previous in line:
                lines[number] = line
            elif line not in previous:
                lines[number] = join_overlapping(previous, line).replace("\n", " ")
    return lines, numbers
