"""Texts as markup: lines with colours and marks, and Markdown as elements of a fixed list.

Nothing is read as HTML, and only addresses of the web are links. markdown-it reads a text and writes the markup; here
its tokens become harmless, and texts in them get marks or links. Scripts make elements of the same markup.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from xml.etree import ElementTree

from markupsafe import Markup, escape

from sleuth.text.clean import escape_text
from sleuth.text.markup import parser, words_of_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token
    from pygments.lexer import Lexer

MOST_CHARACTERS: Final = 400_000
"""Longer texts are shown as they are written."""

TAGS: Final = frozenset({
    "a", "blockquote", "br", "code", "em", "h2", "h3", "hr", "li", "mark", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
})  # fmt: skip
"""Every element that a text may become."""

_CONTAINERS: Final = frozenset({"blockquote", "ol", "table", "tbody", "thead", "ul"})
"""Elements whose parts are marked one by one."""
_NOT_XML: Final = re.compile("[\ufffe\uffff]")

Write: TypeAlias = Callable[[str], Markup]
"""Returns a text as markup in which all of it is escaped."""


def parse(text: str, heading: str = "h2") -> list[Token]:
    """Return the tokens of a text: their elements are of `TAGS`, and their links lead to the web.

    Args:
        heading: the element of headings of every level.
    """
    tokens = parser().parse(escape_text(text[:MOST_CHARACTERS]))
    for token in tokens:
        alignment = str(token.attrs.pop("style", "")).removeprefix("text-align:")  # left, center or right
        if token.type == "heading_open":
            token.attrs["class"] = f"level-{token.tag[1:]}"
        elif token.type == "table_open":
            token.attrs["tabindex"] = "0"  # a wide one scrolls
        elif alignment:
            token.attrs["class"] = alignment
        if token.type.startswith("heading_"):
            token.tag = heading
        for child in token.children or ():
            if child.type == "link_open":
                address = str(child.attrs["href"])
                is_web = address.startswith(("http://", "https://"))
                child.attrs = (
                    {"href": address, "rel": "noreferrer noopener nofollow external"} if is_web else {}
                )
            if child.type.startswith("link_") and not is_web:
                child.tag = "span"
            elif child.type == "image":
                child.type, child.content = "text", "".join(words_of_tokens([child]))
    return tokens


def fill(tokens: Sequence[Token], write: Write = escape, write_code: Write = escape) -> None:
    """Write the texts of tokens that are not written yet.

    Args:
        write_code: writes code and the texts of links.
    """
    for token in tokens:
        is_link = False
        if token.type in ("fence", "code_block"):
            code = write_code(token.content.rstrip("\n"))
            css = f"block {token.attrs.get('class', '')}".strip()
            token.type, token.content = (
                "html_block",
                f'<pre tabindex="0" class="{css}"><code>{code}</code></pre>\n',
            )
        for child in token.children or ():
            if child.type.startswith("link_"):
                is_link = child.nesting > 0
            elif child.type == "text":
                child.type = "html_inline"
                child.content = str((write_code if is_link else write)(child.content))
            elif child.type == "code_inline":
                child.type, child.content = "html_inline", f"<code>{write_code(child.content)}</code>"


def fill_lines(tokens: Sequence[Token], lines: range, write: Write) -> None:
    """Give the smallest blocks with some lines the class `cited`: an item and not its list; and write their texts.

    Args:
        lines: numbers from 0.
    """
    stop = 0
    for at, token in enumerate(tokens):
        first, end = token.map or (0, 0)
        is_block = token.nesting >= 0 and token.type != "inline" and not token.hidden
        if at < stop or not is_block or token.tag in _CONTAINERS or end <= lines.start or first >= lines.stop:
            continue
        stop = at + 1
        while token.nesting and (tokens[stop - 1].level, tokens[stop - 1].nesting) != (token.level, -1):
            stop += 1
        token.attrJoin("class", "cited")
        fill(tokens[at:stop], write, write)


def blocks_of(tokens: Sequence[Token]) -> Iterator[tuple[range, Markup]]:
    """Yield the markup of each block at the top of a text, with the numbers of its lines from 0."""
    start = 0
    for at, token in enumerate(tokens):
        if not token.level and token.nesting <= 0:
            first, end = tokens[start].map or (0, 0)
            yield range(first, max(end, first + 1)), to_html(tokens[start : at + 1])
            start = at + 1


def to_html(tokens: Sequence[Token]) -> Markup:
    """Return tokens as markup, with the texts that are not written yet."""
    fill(tokens)
    return Markup(parser().renderer.render(tokens, parser().options, {}))  # noqa: S704 - all texts are escaped


def to_nodes(markup: str) -> list[Any]:
    """Return markup for a script: texts, and lists of a tag, its attributes and its nodes."""
    text = _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", markup)
    return _nodes(ElementTree.fromstring(f"<p>{text}</p>"))  # noqa: S314 - the markup is ours


def _nodes(element: ElementTree.Element) -> list[Any]:
    nodes: list[Any] = [element.text]
    for child in element:
        nodes += [[child.tag, child.attrib, _nodes(child)], child.tail]
    return [node for node in nodes if node]


MOST_COLOURED = 60_000
"""Characters from which on a text is shown without colours: lexers are regular expressions, and some are slow."""

Span = tuple[int, int]


def lines_of(text: str, spans: Sequence[Span] = (), *, language: str = "") -> list[Markup]:
    """Return the lines of a text; invisible characters are shown as escapes.

    Args:
        spans: start and end of marked text, ascending, without overlap.
        language: of the syntax, as Pygments names it; none where it is unknown.
    """
    lines = [""]
    for value, css, is_marked in _cut(_tokens(text, language), spans):
        for number, part in enumerate(value.split("\n")):
            html = str(escape(escape_text(part)))
            if part and (is_marked or css):
                tag, attribute = "mark" if is_marked else "span", f' class="{css}"' if css else ""
                html = f"<{tag}{attribute}>{html}</{tag}>"
            if number:
                lines.append(html)
            else:
                lines[-1] += html
    return [Markup(line) for line in lines]  # noqa: S704 - texts are escaped, and classes are names of Pygments


def marked(text: str, spans: Sequence[Span]) -> Markup:
    """Return a text without colours, with its marks."""
    return Markup("\n").join(lines_of(text, spans))


def _cut(tokens: Iterable[tuple[str, str]], spans: Sequence[Span]) -> Iterator[tuple[str, str, bool]]:
    """Cut tokens where marks begin and end."""
    at, marks = 0, iter(spans)
    nowhere = (sys.maxsize, sys.maxsize)
    mark_begin, mark_end = next(marks, nowhere)
    for value, css in tokens:
        begin, end = at, at + len(value)
        while begin < end:
            while mark_end <= begin:
                mark_begin, mark_end = next(marks, nowhere)
            is_marked = mark_begin <= begin
            stop = min(end, mark_end if is_marked else mark_begin)
            yield value[begin - at : stop - at], css, is_marked
            begin = stop
        at = end


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a text and their classes; the tokens join to the text."""
    lexer = _lexer(language) if language and len(text) <= MOST_COLOURED else None
    if lexer is None:
        yield text, ""
        return
    from pygments.token import STANDARD_TYPES

    tokens = [(value, STANDARD_TYPES.get(kind, "")) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    is_whole = "".join(value for value, _ in tokens) == text
    yield from tokens if is_whole else [(text, "")]


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
