"""Extracts text from web pages, titled by their <title>, else by their first heading."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import Final

from sleuth.ingest.extraction.markup import to_markdown
from sleuth.ingest.extraction.text import Extracted, ExtractionError, name_columns, within

_tag = re.compile(r"<[^<>]*>")
_start_or_end = re.compile(r"<(/?)([a-z][a-z0-9:-]*)", re.IGNORECASE)
_NOT_NESTED: Final = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
    "dd", "dt", "li", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr",
})  # fmt: skip
"""Elements that are empty, or end where the next one starts."""
_NESTING: Final = 400_000_000
"""Limit of the sum of the depths of all elements: for each block, lexbor visits all elements around it. The limit costs
a second, as do 28,000 nested elements; real pages stay below a depth of 100, and browsers stop at 512."""


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
    for match in _start_or_end.finditer(html):
        end, name = match[1], match[2].lower()
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
    tree.strip_tags(["script"])  # comments in scripts may hold scripts
    title, headline, text = to_markdown(tree.html or "")
    names = (" ".join(unescape(_tag.sub("", name)).split()).strip("¶ ") for name in (title, headline))
    return next(filter(None, names), "")[:500], text
