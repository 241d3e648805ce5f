"""Markdown as elements of a fixed list. Nothing is read as HTML, and only addresses of the web are links.

A kept parser (markdown-it) reads the text; its tokens become elements here. No string of markup is made from a document
or an answer: texts are escaped where the page is written, and scripts make elements from JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from markupsafe import Markup, escape

from sleuth.surfaces.plain import parser, rows_of, words_of_tokens
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from markdown_it.token import Token

MOST_CHARACTERS: Final = 400_000
"""Longer texts are shown as they are written."""

TAGS: Final = frozenset({
    "a", "blockquote", "br", "code", "em", "h2", "h3", "hr", "li", "mark", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
})  # fmt: skip
"""Every element that a text may become."""

_VOID: Final = frozenset({"br", "hr"})


@dataclass(slots=True)
class Element:
    """An element of the page.

    Attributes:
        tag: one of `TAGS`.
        lines: numbers of the lines that it comes from, from 0; of blocks alone.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    lines: range = range(0)


Node: TypeAlias = Element | str


def parse(text: str, heading: str = "h2") -> list[Node]:
    """Return the blocks of a text.

    Args:
        heading: the element of headings of every level.
    """
    root = Element("p")
    stack = [root]
    for token in parser().parse(text[:MOST_CHARACTERS]):
        if token.type == "inline":
            if stack[-1].tag == "p" and (rows := rows_of(token.content)):
                _become_table(stack[-1], rows)
            else:
                _add_inline(stack[-1], token.children or ())
        elif token.hidden:
            continue
        elif token.nesting < 0:
            stack.pop()
        else:
            element = _element(token, heading)
            stack[-1].children.append(element)
            if token.nesting > 0:
                stack.append(element)
    return root.children


def to_html(nodes: Sequence[Node]) -> Markup:
    """Return nodes as markup in which every text is escaped."""
    return Markup("").join(_html(node) for node in nodes)


def to_json(nodes: Sequence[Node]) -> list[Any]:
    """Return nodes for a script: texts, and lists of a tag, its attributes and its children."""
    return [
        node if isinstance(node, str) else [node.tag, node.attributes, to_json(node.children)]
        for node in nodes
    ]


def texts_of(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the texts of nodes, in order."""
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from texts_of(node.children)


def _html(node: Node) -> Markup:
    if isinstance(node, str):
        return escape(node)
    attributes = Markup("").join(Markup(' {}="{}"').format(*pair) for pair in node.attributes.items())
    start = Markup("<{}{}>").format(node.tag, attributes)
    return start if node.tag in _VOID else start + to_html(node.children) + Markup("</{}>").format(node.tag)


def _element(token: Token, heading_tag: str) -> Element:
    """Return the element that a token of a block opens, still empty; that of code is filled in.

    Headings of all levels become `heading_tag`, and unknown tags `span`.
    """
    lines = range(*token.map) if token.map else range(0)
    if token.type in ("fence", "code_block"):
        code = Element("code", {}, [escape_text(token.content.rstrip("\n"))])
        return Element("pre", {"tabindex": "0", "class": "block"}, [code], lines)
    if token.type == "heading_open":
        return Element(heading_tag, {"class": f"level-{token.tag[1:]}"}, [], lines)
    attributes = {"start": str(token.attrs["start"])} if token.tag == "ol" and "start" in token.attrs else {}
    if token.tag == "table":
        attributes["tabindex"] = "0"  # a wide one scrolls
    if alignment := str(token.attrs.get("style", "")).removeprefix("text-align:"):  # left, center or right
        attributes["class"] = alignment
    return Element(token.tag if token.tag in TAGS else "span", attributes, [], lines)


def _become_table(paragraph: Element, rows: Mapping[int, Sequence[str]]) -> None:
    """Turn a paragraph into the table of its lines, whose first one is the header."""
    head, body = (Element(tag, lines=paragraph.lines) for tag in ("thead", "tbody"))
    for number, texts in rows.items():
        is_header = number == 0 and len(rows) > 1
        line = paragraph.lines.start + number
        row = Element("tr", lines=range(line, line + 1))
        (head if is_header else body).children.append(row)
        for text in texts:
            cell = Element("th" if is_header else "td")
            row.children.append(cell)
            for token in parser().parseInline(text):
                _add_inline(cell, token.children or ())
    paragraph.tag, paragraph.attributes = "table", {"tabindex": "0"}
    paragraph.children = [part for part in (head, body) if part.children]


def _add_inline(parent: Element, tokens: Sequence[Token]) -> None:
    """Add the words of a block, with their links, emphasis and code."""
    stack = [parent]
    for token in tokens:
        if token.nesting < 0:
            stack.pop()
        elif token.nesting > 0:
            element = Element(token.tag if token.tag in TAGS else "span")
            if token.tag == "a":
                element = _link(str(token.attrs.get("href", "")))
            stack[-1].children.append(element)
            stack.append(element)
        elif token.type == "code_inline":
            stack[-1].children.append(Element("code", {}, [escape_text(token.content)]))
        elif token.type == "hardbreak":
            stack[-1].children.append(Element("br"))
        else:
            stack[-1].children.append(escape_text("".join(words_of_tokens([token]))))


def _link(address: str) -> Element:
    """Return the link to an address of the web; other addresses lead nowhere here."""
    if not address.startswith(("http://", "https://")):
        return Element("span")
    return Element("a", {"href": address, "rel": "noreferrer noopener nofollow external"})
