"""Texts of passages as a reader sees them, without signs of Markdown: the page and the command line show the same."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal

from sleuth.files.formats import BUILT_IN

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_ENDINGS: Final = (".md", ".markdown", ".mdx")
_HEADING_SIGN: Final = re.compile(r"^#{1,6} (?=\S)", re.MULTILINE)
_ROW: Final = re.compile(r"\|.*\|")
_RULE: Final = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_BORDER: Final = re.compile(r"(?<!\\)\|")
_NOTE_LINK: Final = re.compile(r"!?\[\[([^\[\]|\n]+)(?:\|([^\[\]\n]*))?\]\]")
_KIND: Final = re.compile(r"\[!([\w-]+)\][+-]?[ \t]*")


def is_markdown(metadata: Mapping[str, Any]) -> bool:
    """Return whether the text of an item is Markdown, as its author or a loader wrote it."""
    source = str(metadata.get("source") or "")
    kind = BUILT_IN.get(str(metadata.get("type") or ""))
    if kind is not None:
        return kind.form == "markdown"
    is_page = source.startswith(("http://", "https://"))
    return metadata.get("source_type") != "code" and (is_page or PurePath(source).suffix in _ENDINGS)


def is_prose(metadata: Mapping[str, Any]) -> bool:
    """Return whether the text of an item is running text, as its author or a loader wrote it."""
    kind = BUILT_IN.get(str(metadata.get("type") or ""))
    return kind is not None and kind.form == "text"


def shown_text(metadata: Mapping[str, Any], text: str) -> str:
    """Return the text of an item without signs of markup; headings of a PDF have signs that its loader wrote."""
    if is_markdown(metadata):
        return plain(text)
    return without_heading_signs(text) if metadata.get("type") == "pdf" else text


def without_heading_signs(text: str) -> str:
    """Return a text whose headings are lines as others are."""
    return _HEADING_SIGN.sub("", text)


@lru_cache(maxsize=512)
def plain(text: str) -> str:
    """Return a text without its markup: a line for each paragraph, item, row and line of code, and no first heading."""
    lines: list[str] = []
    cells: list[str] = []
    marker = kind = ""
    for token in parser().parse(text):
        if token.type in ("heading_open", "paragraph_open", "th_open", "td_open"):
            kind = token.type
        elif token.type == "list_item_open":
            marker = "• "
        elif token.type == "tr_close":
            lines.append(" · ".join(filter(None, cells)))
            cells = []
        elif token.type in ("fence", "code_block"):
            lines.append(token.content.rstrip("\n"))
        elif token.type == "inline":
            if kind in ("th_open", "td_open"):
                cells.append(_words(token))
            elif kind == "paragraph_open" or lines:
                lines.append(marker + _words(token))
                marker = ""
    return "\n".join(lines) or text


@cache
def parser() -> MarkdownIt:
    """Return the parser of Markdown, which reads nothing as HTML.

    Beside CommonMark it reads tables, also those without a line below the header, links between notes (`[[note|text]]`)
    and the kind of a callout (`[!tip]`).
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.core.ruler.after("block", "rows", _make_tables)
    markdown.inline.ruler.before("link", "note_link", _read_note_link)
    markdown.inline.ruler.before("link", "callout", _read_callout)
    return markdown


def _make_tables(state: StateCore) -> None:
    """Turn each paragraph whose lines are rows into a table: as loaders write, or a passage begins."""
    for at in reversed(range(len(state.tokens))):
        if state.tokens[at].type == "paragraph_open":
            lines = [line.strip() for line in state.tokens[at + 1].content.split("\n")]
            rows = {
                number: [cell.strip() for cell in _BORDER.split(line[1:-1])]
                for number, line in enumerate(lines)
                if not _RULE.fullmatch(line)
            }
            if all(map(_ROW.fullmatch, lines)) and any(len(row) > 1 for row in rows.values()):
                state.tokens[at : at + 3] = _table_of(rows, state.tokens[at])


def _table_of(rows: Mapping[int, Sequence[str]], paragraph: Token) -> Iterator[Token]:
    """Yield the tokens of a table.

    Args:
        rows: cells by number of the line in the paragraph; the first line is the header, unless it is the only one.
    """
    from markdown_it.token import Token

    first = (paragraph.map or [0])[0]

    def element(name: str, nesting: Literal[1, -1], number: int, level: int) -> Token:
        kind = f"{name}_{'open' if nesting > 0 else 'close'}"
        lines = [first + number, first + number + 1] if name == "tr" else paragraph.map
        return Token(kind, name, nesting, map=lines, level=paragraph.level + level, block=True)

    yield element("table", 1, 0, 0)
    for number, cells in rows.items():
        name = "th" if number == 0 and len(rows) > 1 else "td"
        yield element("tr", 1, number, 1)
        for cell in cells:
            yield element(name, 1, number, 2)
            yield Token("inline", "", 0, content=cell, children=[], level=paragraph.level + 3)
            yield element(name, -1, number, 2)
        yield element("tr", -1, number, 1)
    yield element("table", -1, 0, 0)


def _read_note_link(state: StateInline, silent: bool) -> bool:
    """Read `[[note#heading|text]]`, with `!` before it too, as its text or the names of the note and the heading."""
    match = _NOTE_LINK.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.pending += match[2] or match[1].partition("#^")[0].strip("#").replace("#", " > ")
    state.pos = match.end()
    return True


def _read_callout(state: StateInline, silent: bool) -> bool:
    """Read `[!tip] Title`, the first line of a quote, as a bold line that begins with its kind.

    Where a quote follows its title, as in an answer, only the kind is read.
    """
    begins = not state.pos
    if silent or not (begins or state.src.startswith(": ", state.pos - 2)):
        return False
    match = _KIND.match(state.src, state.pos)
    if match is None:
        return False
    kind, end = match[1].capitalize(), state.src.find("\n") if begins else -1
    if end < 0:  # the title ends where nobody knows
        state.pending += f"{kind}: "
        state.pos = match.end()
    else:
        title = state.src[match.end() : end]
        state.push("strong_open", "strong", 1)
        state.md.inline.parse(f"{kind}: {title}" if title else kind, state.md, state.env, state.tokens)
        state.push("strong_close", "strong", -1)
        state.push("hardbreak", "br", 0)
        state.pos = end + 1
    return True


def words_of_tokens(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of a block as a reader sees them; of a picture, its alternative text."""
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from words_of_tokens(token.children or ())
        else:
            yield token.content


def _words(token: Token) -> str:
    return "".join(words_of_tokens(token.children or ()))
