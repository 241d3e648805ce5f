"""Extracts text from OpenDocument texts and presentations, titled by the title in their metadata."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

from sleuth.ingest.extraction import Extracted, ExtractionError, html_to_markdown, name_columns, within
from sleuth.plugins.office.xml import parse
from sleuth.plugins.office.zips import opened_zip

_ELEMENTS: Final = {
    "p": "p",
    "list": "ul",
    "list-item": "li",
    "table": "table",
    "table-row": "tr",
    "table-cell": "td",
}
"""Elements of HTML for those of OpenDocument."""
_LEFT_OUT: Final = frozenset(
    {"annotation", "binary-data", "tracked-changes", "note-citation", "scripts", "forms"}
)
_MOST_BLANKS: Final = 100
_MOST_CELLS: Final = 50
"""Equal cells in a row, one for all in the file, that are written one by one; more fill the rest of a sheet."""


def extract_opendocument(data: bytes, limit: int) -> Extracted:
    """Extract the document as Markdown; slides of presentations and sheets of flat files are sections."""
    if data.startswith(b"PK"):
        with opened_zip(data, limit, "OpenDocument") as archive:
            content = archive.read("content.xml")
            about = archive.read("meta.xml") if "meta.xml" in archive.namelist() else b""
    else:
        content = about = data
    body = _OdfBody()
    parse(content, body.start, body.end, body.text, "OpenDocument")
    heading, text = html_to_markdown(f"<body>{''.join(body.parts)}</body>")
    if not text:
        raise ExtractionError("no text in it")
    title, metadata = _about(about)
    return Extracted(within(name_columns(text), limit), title or heading, metadata)


class _OdfBody:
    """Writes the body of a document as HTML."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.slides = 0
        self.skipping = 0  # depth inside an element that is left out
        self.inside = 0  # depth inside the body
        self.headings: list[str] = []
        self.is_sheets = False
        self.outer: list[list[str]] = []  # what is written around the notes that are open
        self.notes: list[str] = []  # of the paragraph that is open

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.inside += name == "body"
        if not self.inside:
            return
        if self.skipping or name in _LEFT_OUT:
            self.skipping += 1
        elif name == "h":
            level = attributes.get("text:outline-level", "1")
            self.headings.append(f"h{min(int(level), 6)}" if level.isdecimal() else "h1")
            self.parts.append(f"<{self.headings[-1]}>")
        elif name == "page":
            self.slides += 1
            self.parts.append(f"<h1>Slide {self.slides}: {escape(attributes.get('draw:name', ''))}</h1>")
        elif name in _ELEMENTS:
            self.parts.append(self._before(name, attributes) + f"<{_ELEMENTS[name]}>")
        elif name == "note-body":
            self.outer.append(self.parts)
            self.parts = []
        elif name == "covered-table-cell":
            self.parts.append("<td></td>" * _repeats(attributes))
        elif name == "spreadsheet":
            self.is_sheets = True
        elif name == "notes":
            self.parts.append("<p>Notes:</p>")
        elif name == "line-break":
            self.parts.append("<br>")
        elif name in ("tab", "s"):
            count = attributes.get("text:c", "1")
            self.parts.append(" " * (min(int(count), _MOST_BLANKS) if count.isdecimal() else 1))

    def _before(self, name: str, attributes: Mapping[str, str]) -> str:
        """Return the text before an element: the name of a sheet, or empty cells."""
        if name == "table" and self.is_sheets:
            return f"<h2>{escape(attributes.get('table:name', ''))}</h2>"
        return "<td></td>" * (_repeats(attributes) - 1) if name == "table-cell" else ""

    def end(self, name: str) -> None:
        if not self.inside:
            return
        self.inside -= name == "body"
        if self.skipping:
            self.skipping -= 1
        elif name == "h" and self.headings:
            self.parts.append(f"</{self.headings.pop()}>")
            self._end_paragraph()
        elif name == "note-body" and self.outer:
            self.notes.append(f"<blockquote>{''.join(self.parts)}</blockquote>")
            self.parts = self.outer.pop()
        elif name in _ELEMENTS:
            self.parts.append(f"</{_ELEMENTS[name]}>")
            if name == "p":
                self._end_paragraph()

    def _end_paragraph(self) -> None:
        """Write the notes below the paragraph that they belong to: inside, they would break its sentences."""
        if not self.outer:
            self.parts += self.notes
            self.notes = []

    def text(self, text: str) -> None:
        if self.inside and not self.skipping:
            self.parts.append(escape(text))


def _repeats(attributes: Mapping[str, str]) -> int:
    """Return how many cells an element stands for."""
    count = attributes.get("table:number-columns-repeated", "1")
    return int(count) if count.isdecimal() and 0 < int(count[:9]) <= _MOST_CELLS else 1


def _about(meta: bytes) -> tuple[str, dict[str, Any]]:
    """Return the title and other facts that `meta.xml`, or the head of a flat file, states."""
    facts: dict[str, str] = {}
    path: list[str] = []

    def start(name: str, _: Mapping[str, str]) -> None:
        path.append(name)

    def end(_: str) -> None:
        path.pop()

    def text(text: str) -> None:
        if path[-2:-1] == ["meta"]:
            facts[path[-1]] = facts.get(path[-1], "") + text

    if meta:
        parse(meta, start, end, text, "OpenDocument")
    author = facts.get("creator", facts.get("initial-creator", "")).strip()
    return facts.get("title", "").strip(), {"author": author} if author else {}
