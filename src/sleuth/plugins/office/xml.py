"""Reads XML without entities of its own and without anything outside it; extracts text from XML files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final
from xml.parsers import expat

from sleuth.ingest.extraction import Extracted, ExtractionError, name_columns, within

_DEPTH: Final = 1_000
_blanks = re.compile(r"\s+")
_gaps = re.compile(r"\n{3,}")
_TITLES: Final = frozenset({"title", "head", "caption", "subtitle", "article-title", "heading"})
_FLOWING: Final = frozenset({
    "a", "abbr", "acronym", "b", "bold", "classname", "cite", "code", "command", "date", "email", "emphasis", "em",
    "ext-link", "filename", "firstterm", "function", "guilabel", "hi", "i", "italic", "keycap", "link", "literal",
    "name", "option", "parameter", "phrase", "quote", "ref", "replaceable", "see", "span", "strong", "sub", "sup",
    "term", "type", "ulink", "userinput", "varname", "xref",
})  # fmt: skip
"""Elements that are part of the sentence around them, as DocBook, TEI, JATS and documentation comments name them."""
_BLOCKS: Final = frozenset({"p", "para", "simpara", "ab", "l", "listitem", "summary", "text", "abstract"})
"""Elements whose name says nothing that a reader looks for."""
_PROSE: Final = _BLOCKS | _TITLES
_SECTIONS: Final = frozenset(
    {"section", "sect1", "sect2", "sect3", "sect4", "sec", "div", "chapter", "appendix"}
)
_ROWS: Final = frozenset({"row", "tr"})
_CELLS: Final = frozenset({"cell", "entry", "td", "th"})
_TITLE_LENGTH: Final = 300


def parse(
    data: bytes,
    start: Callable[[str, Mapping[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None],
    kind: str = "XML",
) -> None:
    """Call `start`, `end` and `text` for the elements of a file; names are without namespace and prefix.

    A file that declares entities is refused. Nothing outside the file is read.

    Raises:
        ExtractionError: it is damaged, declares entities or is nested too deeply.
    """
    depth = 0

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEPTH:
            raise ExtractionError("nested too deeply", limit=True)
        start(name.rpartition(":")[2], attributes)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(name.rpartition(":")[2])

    def declared(*_: object) -> None:
        raise ExtractionError("declares entities, which are not read")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = text
    parser.EntityDeclHandler = declared
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(data, True)  # its last part
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise ExtractionError(f"not readable as {kind}: {error}") from error


def extract_xml(data: bytes, limit: int) -> Extracted:
    """Extract the text of all elements as Markdown, titled by the first title.

    Elements of prose are paragraphs, titles are headings, rows with cells are rows of tables. An element that holds
    text alone is a line `name: text`; the values of attributes are part of the line.
    """
    writer = _ElementLines()
    parse(data, writer.start, writer.end, writer.text)
    text = writer.written()
    if not text:
        raise ExtractionError("no text in it")
    return Extracted(within(name_columns(text), limit), writer.title)


class _ElementLines:
    """Writes elements as lines and paragraphs."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.words: list[str] = []  # of the open line
        self.mark = ""  # what the open line begins with
        self.sections = 0  # open ones
        self.prose = 0  # open elements of prose
        self.title = ""
        self.cells: list[str] | None = None  # of the open row
        self.cell: int | None = None  # lines before the open cell

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.sections += name in _SECTIONS
        is_flowing = self.prose > 0 and name in _FLOWING
        self.prose += name in _PROSE
        if is_flowing:
            return
        self._end_line()
        if name.lower() in _ROWS and self.cell is None:
            self.cells = []
        elif name.lower() in _CELLS and self.cells is not None and self.cell is None:
            self.cell = len(self.lines)
        self.mark = "" if name in _PROSE or self.cell is not None else f"{name}: "
        # What a person may look for.
        values = [
            f"{key.rpartition(':')[2]}={value}"
            for key, value in attributes.items()
            if not key.startswith(("xmlns", "xsi:", "xml:"))
            and key not in ("id", "style", "class")
            and value.strip()
        ]
        if values:
            self.words.append(" ".join(values) + " ")

    def end(self, name: str) -> None:
        """Close an element.

        A title becomes a heading, and an element within a sentence ends nothing. Any other ends the line: one of prose
        also the paragraph, a cell or a row also that of the table. A title in a cell is no heading.
        """
        self.sections -= name in _SECTIONS
        self.prose -= name in _PROSE
        if name in _TITLES and self.cell is None:
            title = _blanks.sub(" ", "".join(self.words)).strip()[:_TITLE_LENGTH]
            if title:
                self.title = self.title or title
                self.lines += ["", f"{'#' * min(self.sections + 1, 6)} {title}", ""]
            self.words, self.mark = [], ""
            return
        is_flowing = self.prose > 0 and name in _FLOWING
        if not is_flowing:
            self._end_line()
            if name in _BLOCKS:
                self.lines.append("")
            if name.lower() in _CELLS:
                if self.cells is not None and self.cell is not None:  # its lines move into its row
                    self.cells.append(" ".join(filter(None, self.lines[self.cell :])))
                    del self.lines[self.cell :]
                    self.cell = None
            elif name.lower() in _ROWS and self.cells is not None and self.cell is None:
                cells, self.cells = self.cells, None
                if any(cells):
                    rule = [f"|{'---|' * len(cells)}"]
                    begins_table = not (self.lines and self.lines[-1].startswith("|"))
                    self.lines += [""] * begins_table + [f"| {' | '.join(cells)} |"] + rule * begins_table

    def text(self, text: str) -> None:
        self.words.append(text)

    def _end_line(self) -> None:
        line = _blanks.sub(" ", "".join(self.words)).strip()
        if line:
            if self.lines and self.lines[-1].startswith("|") and self.cell is None:
                self.lines.append("")
            self.lines.append(f"{self.mark}{line}")
        self.words, self.mark = [], ""

    def written(self) -> str:
        self._end_line()
        return _gaps.sub("\n\n", "\n".join(self.lines)).strip("\n")
