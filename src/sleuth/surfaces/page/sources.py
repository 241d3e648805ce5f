"""What the source view shows: a document or a file, with the lines that are cited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from sleuth.surfaces.hits import Location, matches_in
from sleuth.surfaces.page.markdown import (
    MOST_CHARACTERS,
    Element,
    Node,
    parse,
    texts_of,
    to_html,
)
from sleuth.surfaces.page.pieces import LinePiece, Span, lines_of
from sleuth.surfaces.page.views import language, shown_place
from sleuth.surfaces.plain import is_markdown, is_prose, without_heading_signs
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from sleuth.engine.answers import Answering
    from sleuth.types import RetrievedItem

MOST_LINES: Final = 2_000
"""Lines before and after what is cited that a source view shows."""

_INSIDE: Final = frozenset({"blockquote", "ol", "table", "tbody", "thead", "ul"})
"""Elements whose parts are cited one by one."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of a source view."""

    number: int
    pieces: list[LinePiece]
    is_cited: bool


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """A paragraph, list, table, heading or piece of code of a document in Markdown.

    Attributes:
        numbers: of its lines.
    """

    numbers: range
    html: Markup
    is_cited: bool


@dataclass(frozen=True, slots=True)
class SourceView:
    """A document or a file, with the lines that are cited.

    Attributes:
        heading: the headings above what is cited.
        lines: in order, at most `MOST_LINES` before and after what is cited; empty where there are blocks.
        blocks: of a document in Markdown.
        is_prose: whether its lines are running text, and no code.
        is_whole: whether all of it is cited.
        plain: address of the same lines as they are written, where blocks are shown.
        formatted: address of the blocks, where lines of Markdown are shown as they are written.
        folder: address of the list of its folder.
        outside: address of the web page that it was.
        download: address of the original at the page that is cited, where it is a PDF.
        picture: address of the picture of that page.
    """

    title: str
    place: Location
    lines: list[SourceLine]
    blocks: list[SourceBlock]
    heading: str = ""
    facts: list[tuple[str, str]] = field(default_factory=list)
    is_prose: bool = False
    is_whole: bool = False
    plain: str = ""
    formatted: str = ""
    folder: str = ""
    outside: str = ""
    download: str = ""
    picture: str = ""


def source_view(
    item: RetrievedItem,
    numbered: Mapping[int, str],
    cited: range,
    query: str,
    sources: Answering,
    *,
    title: str,
    as_written: bool = False,
    **addresses: str,
) -> SourceView:
    """Show a document or file.

    Args:
        item: what is cited.
        numbered: the lines of the whole, by number.
        cited: numbers of the lines that are cited.
        as_written: shows Markdown as it is written.
        addresses: `plain`, `formatted`, `folder`, `download` and `picture`.
    """
    begin, end = min(numbered, default=1), max(numbered, default=0)
    numbers = range(max(begin, cited.start - MOST_LINES), min(end, cited.start + MOST_LINES) + 1)
    text = "\n".join(numbered.get(number, "") for number in numbers)

    if item.metadata.get("type") == "pdf":
        text = without_heading_signs(text)

    def matches(part: str) -> list[Span]:
        return matches_in(part, query, sources.snippet, item)

    lines, blocks = list[SourceLine](), list[SourceBlock]()
    has_blocks = is_markdown(item.metadata) and len(text) <= MOST_CHARACTERS
    if has_blocks and not as_written:
        blocks = list(_blocks(parse(text), numbers.start, cited, matches))
    elif "row" in item.metadata:
        blocks = list(_blocks([_table_of_row(text)], numbers.start, cited, matches))
    else:
        lines = list(_lines(text, numbers, cited, language(item.metadata), matches))
    if not has_blocks or not as_written:
        addresses["formatted"] = ""
    if not has_blocks or as_written:
        addresses["plain"] = ""
    source = str(item.metadata.get("source") or "")
    place = shown_place(item.id, item.metadata)
    return SourceView(
        escape_text(title),
        replace(place, lines="") if "row" in item.metadata else place,
        lines,
        blocks,
        is_whole=cited.start <= begin and end < cited.stop,
        outside=source if source.startswith(("http://", "https://")) else "",
        heading=escape_text(str(item.metadata.get("heading") or "")),
        facts=_facts(item.metadata),
        is_prose=is_prose(item.metadata),
        **addresses,
    )


def _lines(
    text: str, numbers: range, cited: range, syntax: str, matches: Callable[[str], list[Span]]
) -> Iterator[SourceLine]:
    """Yield numbered lines with syntax colouring; words that match the question are marked, in cited lines only.

    Args:
        numbers: of the lines of the text.
        syntax: as `lines_of` takes a language.
    """
    text_lines = text.split("\n")
    before = "".join(f"{line}\n" for line in text_lines[: max(0, cited.start - numbers.start)])
    inside = "\n".join(text_lines[max(0, cited.start - numbers.start) : max(0, cited.stop - numbers.start)])
    offset = len(before)
    spans = [(start + offset, stop + offset) for start, stop in matches(inside)]
    for number, pieces in zip(numbers, lines_of(text, spans, language=syntax), strict=True):
        yield SourceLine(number, pieces, number in cited)


def _table_of_row(text: str) -> Element:
    """Return a row of a table, whose text has a line for each field, with a line for each of them."""
    table = Element("table", {"tabindex": "0"}, lines=range(1))
    for line in text.split("\n"):
        name, colon, value = line.partition(": ")
        cells = [Element("th", {}, [escape_text(name if colon else "")])]
        cells.append(Element("td", {}, [escape_text(value if colon else line)]))
        table.children.append(Element("tr", {}, [*cells], range(1)))
    return table


def _blocks(
    nodes: Sequence[Node], first: int, cited: range, matches: Callable[[str], list[Span]]
) -> Iterator[SourceBlock]:
    """Yield blocks of text; what is cited has a class, and its words are marked.

    Args:
        first: number of the first line of the text.
    """
    blocks = [block for block in nodes if isinstance(block, Element)]
    elements = [part for block in blocks for part in _cited_parts(block, first, cited)]
    inside = "\n".join(text for part in elements for text in texts_of(part.children))
    spans, at = matches(inside), 0
    for part in elements:
        part.attributes["class"] = f"{part.attributes.get('class', '')} cited".strip()
        part.children, at = _marked(part.children, spans, at)
    for block in blocks:
        numbers = range(first + block.lines.start, first + max(block.lines.stop, block.lines.start + 1))
        overlaps = numbers.start < cited.stop and cited.start < numbers.stop
        yield SourceBlock(numbers, to_html([block]), overlaps)


def _cited_parts(element: Element, first: int, cited: range) -> Iterator[Element]:
    """Yield the smallest blocks that hold a cited line: an item and not its list, a row and not its table."""
    start, stop = first + element.lines.start, first + element.lines.stop
    if stop <= start or start >= cited.stop or stop <= cited.start:
        return
    if element.tag not in _INSIDE:
        yield element
        return
    for child in element.children:
        if isinstance(child, Element):
            yield from _cited_parts(child, first, cited)


def _marked(nodes: Sequence[Node], spans: Sequence[Span], at: int) -> tuple[list[Node], int]:
    """Return nodes with marked spans, and where the text after them begins; texts are joined by one character."""
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Element):
            node.children, at = _marked(node.children, spans, at)
            result.append(node)
            continue
        inside = [(max(a - at, 0), min(b - at, len(node))) for a, b in spans if a < at + len(node) and b > at]
        cuts = sorted({0, len(node), *(end for span in inside for end in span)})
        for start, stop in pairwise(cuts):
            piece = node[start:stop]
            result.append(Element("mark", {}, [piece]) if (start, stop) in inside else piece)
        at += len(node) + 1
    return result, at


_SHOWN_ELSEWHERE: Final = frozenset(
    {"source", "path", "title", "start_line", "end_line", "page", "heading", "repository", "repository_path"}
)


def _facts(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    values = {key: value for key, value in metadata.items() if key not in _SHOWN_ELSEWHERE}
    return [(escape_text(str(key)), escape_text(str(value))[:300]) for key, value in sorted(values.items())]
