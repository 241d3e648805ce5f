"""Extracts text from web pages, titled by their <title>, else by their first heading."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from sleuth.ingest.extraction.text import Extracted, ExtractionError, name_columns, within

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_DROPPED: Final = (
    "script, style, noscript, template, svg, canvas, iframe, object, nav, aside, button, select, input,"
    " textarea, dialog, [hidden], [aria-hidden=true], [role=navigation], [role=search], a.headerlink,"
    " body > header, body > footer"
)
_MAIN: Final = ("main", "[role=main]", "article")
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
# fmt: off
_BLOCKS: Final = frozenset({
    "address", "article", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "div",
    "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "legend", "li", "main", "ol", "p", "pre", "section", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
_LINES: Final = frozenset({"li", "tr", "caption", "thead", "tbody", "tfoot"})
_tag = re.compile(r"<(/?)([a-z][a-z0-9:-]*)", re.IGNORECASE)
_NOT_NESTED: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "dd", "dt", "li", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
})  # fmt: skip
"""Elements that are empty, or end where the next one starts."""
_NESTING: Final = 400_000_000
"""Limit of the sum of the depths of all elements: for each block, lexbor visits all elements around it. The limit costs
a second, as do 28,000 nested elements; real pages stay below a depth of 100, and browsers stop at 512."""
_blanks = re.compile(r"[ \t\n\r\f\v]+")


def extract_html(data: bytes, limit: int) -> Extracted:
    """Extract the main part of a page as Markdown, so that headings, lists and tables survive."""
    title, body = html_to_markdown(data.decode("utf-8", "surrogatepass"))
    if not body:
        raise ExtractionError("no text in this page")
    return Extracted(within(name_columns(body), limit), title)


def _is_nested_too_deeply(html: str) -> bool:
    """Return whether the parser would take seconds or more; only large pages need a close look."""
    if html.count("<") ** 2 <= 2 * _NESTING:
        return False
    stack: list[str] = []
    open_elements: Counter[str] = Counter()
    looks = 0
    for match in _tag.finditer(html):
        end, name = match.groups()
        name = name.lower()
        if name in _NOT_NESTED:
            continue
        if end:
            while open_elements[name]:
                closed_name = stack.pop()
                open_elements[closed_name] -= 1
                if closed_name == name:
                    break
        elif not open_elements["svg"] or html[html.find(">", match.end(), match.end() + 9999) - 1] != "/":
            stack.append(name)
            open_elements[name] += 1
            looks += len(stack)
            if looks > _NESTING:
                return True
    return False


def html_to_markdown(html: str) -> tuple[str, str]:
    """Return the title of a page and the text of its main part as Markdown; either may be empty.

    Navigation, scripts, forms and hidden elements are dropped. The main part is <main>, else the only <article>,
    else the whole body.

    Raises:
        ExtractionError: elements are nested too deeply.
    """
    if _is_nested_too_deeply(html):
        raise ExtractionError("elements nested too deeply", limit=True)
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    title = _title(tree)
    for node in tree.css(_DROPPED):
        node.decompose()
    root = tree.body
    for selector in _MAIN:
        nodes = tree.css(selector)
        if len(nodes) == 1 and len(nodes[0].text(deep=True).strip()) > 200:
            root = nodes[0]
            break
    return title, "" if root is None else _Writer().write(root)


def _title(tree: LexborHTMLParser) -> str:
    for selector in ("title", "h1"):
        node = tree.css_first(selector)
        if node is not None and (text := " ".join(node.text(deep=True).split()).strip("¶ ")):
            return text[:500]
    return ""


class _Writer:
    """Writes a tree as Markdown, in one pass without recursion, so that any depth works."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.breaks = 2  # line ends at the end of the text so far; 2 at the start, where no break is needed
        self.space = False  # whether to write a blank before the next word
        self.prefix = ""  # start of the next line: marks of a heading or an item
        self.lists: list[int] = []  # for each open list: -1 if unordered, else the number of its last item
        self.preformatted = 0
        self.fence = ""  # of the open block of code; "" in a cell of one line
        self.is_heading = False
        self.cells = 0  # cells written of the open row

    def write(self, root: LexborNode) -> str:
        # Those around the node: asking a node for its parent is slow.
        open_elements: list[tuple[LexborNode, str | None]] = []
        node = root
        while True:
            tag = node.tag
            child = self._enter(node, tag)
            if child is not None:
                open_elements.append((node, tag))
                node = child
                continue
            while True:
                if tag in _BLOCKS:
                    self._leave(tag)
                if not open_elements:
                    return "".join(self.parts).strip("\n")
                if (sibling := node.next) is not None:
                    node = sibling
                    break
                node, tag = open_elements.pop()

    def _enter(self, node: LexborNode, tag: str | None) -> LexborNode | None:
        if tag == "-text":
            text = node.text_content or ""
            if self.is_heading:
                if (
                    not any(map(str.isalnum, text))
                    and (parent := node.parent) is not None
                    and parent.tag == "a"
                ):
                    text = ""  # of a link of the heading to itself, such as "¶" or "#"
                text = text.replace("\xa0", " ").replace("¶", "")
            self._text(text)
            return None
        if tag is None or tag[0] in "-!":
            return None
        if tag == "br":
            self._break(1)
        elif tag == "img":
            self._text(node.attributes.get("alt") or "")
        elif tag == "pre":
            self.preformatted += 1
            code = node.text(deep=True) if self.preformatted == 1 else ""
            # Code of several lines ends a row of cells: its fence stands on a line of its own.
            if self.preformatted == 1 and (not self.cells or "\n" in code.strip("\n")):
                self.cells, self.prefix = 0, ""
                self._break(2)
                self.fence = "~~~" if "```" in code else "```"
                self._raw(f"{self.fence}\n")
        elif tag in _BLOCKS:
            self._open(tag)
        return node.child

    def _open(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.space = False  # the mark brings its own
            self._inline(" | " if self.cells else "| ")
            self.cells += 1
            return
        self._break(1 if tag in _LINES or (tag in ("ul", "ol") and self.lists) else 2)
        if tag in _HEADINGS:
            self.prefix = _HEADINGS[tag]
            self.is_heading = True
        elif tag in ("ul", "ol"):
            self.lists.append(-1 if tag == "ul" else 0)
        elif tag == "li":
            self.prefix = "  " * (len(self.lists) - 1) + "- "
            if self.lists and self.lists[-1] >= 0:
                self.lists[-1] += 1
                self.prefix = f"{self.prefix[:-2]}{self.lists[-1]}. "
        elif tag == "tr":
            self.cells = 0

    def _leave(self, tag: str) -> None:
        if tag in ("td", "th"):
            return
        if tag == "pre" and self.preformatted:
            self.preformatted -= 1
            if self.fence and not self.preformatted:
                self.cells = 0
                self._break(1)
                self._raw(self.fence)
                self.fence = ""
        elif tag == "tr" and self.cells:
            self._raw(" |")
            self.cells = 0
        elif tag in ("ul", "ol") and self.lists:
            self.lists.pop()
        elif tag in _HEADINGS:
            self.is_heading = False
        self.prefix = ""
        self._break(1 if tag in _LINES or (tag in ("ul", "ol") and self.lists) else 2)

    def _text(self, text: str) -> None:
        if self.fence:
            self._raw(text)
            return
        words = text if text.isprintable() and "  " not in text else _blanks.sub(" ", text)
        if words == " " or not words:
            self.space = self.space or bool(words)
            return
        self.space = self.space or words[0] == " "
        self._inline(words.strip(" "))
        self.space = words[-1] == " "

    def _inline(self, text: str) -> None:
        if self.space and not self.breaks and not self.parts[-1].endswith(" "):
            self.parts.append(" ")
        self._raw(text)

    def _raw(self, text: str) -> None:
        if not text:
            return
        if self.prefix:
            self.parts.append(self.prefix)
            self.prefix = ""
        self.parts.append(text)
        self.space = False
        self.breaks = len(text) - len(text.rstrip("\n")) if text[-1] == "\n" else 0

    def _break(self, lines: int) -> None:
        """End the line; two line ends separate blocks. Rows, and items before their first word, get no line end."""
        self.space = False
        if self.cells:
            self.space = True
        elif not self.prefix and self.breaks < lines:
            self.parts.append("\n" * (lines - self.breaks))
            self.breaks = lines
