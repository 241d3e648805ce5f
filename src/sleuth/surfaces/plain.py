"""Texts of passages as a reader sees them, without signs of Markdown: the page and the command line show the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from sleuth.files.formats import BUILT_IN

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_ENDINGS: Final = (".md", ".markdown", ".mdx")
_HEADING_SIGN: Final = re.compile(r"^#{1,6} (?=\S)", re.MULTILINE)
_ROW: Final = re.compile(r"\|.*\|")
_RULE: Final = re.compile(r"\|(?: ?:?-+:? ?\|)+")
_BORDER: Final = re.compile(r"(?<!\\)\|")


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
            lines.append(_row(cells))
            cells = []
        elif token.type in ("fence", "code_block"):
            lines.append(token.content.rstrip("\n"))
        elif token.type == "inline":
            if kind in ("th_open", "td_open"):
                cells.append(_words(token))
            elif kind == "paragraph_open" and (rows := rows_of(token.content)):
                lines += [_row(map(_words_of, row)) for row in rows.values()]
            elif kind == "paragraph_open" or lines:
                lines.append(marker + _words(token))
                marker = ""
    return "\n".join(lines) or text


def rows_of(paragraph: str) -> dict[int, list[str]]:
    """Return the cells of each line of a table without the line below its header, by number; {} if it is no table.

    Loaders write such tables, and a passage may begin inside one.
    """
    lines = [line.strip() for line in paragraph.split("\n")]
    if not all(map(_ROW.fullmatch, lines)):
        return {}
    rows = {
        number: [cell.strip() for cell in _BORDER.split(line[1:-1])]
        for number, line in enumerate(lines)
        if not _RULE.fullmatch(line)
    }
    return rows if any(len(row) > 1 for row in rows.values()) else {}


@cache
def parser() -> MarkdownIt:
    """Return the parser of Markdown, which reads nothing as HTML."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def words_of_tokens(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words of a block as a reader sees them; of a picture, its alternative text."""
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from words_of_tokens(token.children or ())
        else:
            yield token.content


def _row(cells: Iterable[str]) -> str:
    """Return a row of a table in one line, without its empty cells."""
    return " · ".join(filter(None, cells))


def _words(token: Token) -> str:
    return "".join(words_of_tokens(token.children or ()))


def _words_of(text: str) -> str:
    return "".join(map(_words, parser().parseInline(text)))
