"""Extracts text from web pages, titled by their <title>, else by their first heading."""

from __future__ import annotations

import re
from html import unescape

from sleuth.ingest.extraction.markup import to_markdown
from sleuth.ingest.extraction.text import Extracted, ExtractionError, name_columns, within

_tag = re.compile(r"<[^<>]*>")


def extract_html(data: bytes, limit: int) -> Extracted:
    """Extract the main part of a page as Markdown, so that headings, lists and tables survive."""
    title, body = html_to_markdown(data.decode("utf-8", "surrogatepass"))
    if not body:
        raise ExtractionError("no text in this page")
    return Extracted(within(name_columns(body), limit), title)


def html_to_markdown(html: str) -> tuple[str, str]:
    """Return the title of a page and the text of its main part as Markdown; either may be empty.

    Navigation, scripts, forms and hidden elements are dropped. The main part is <main>, else the only <article>,
    else the whole body. Hostile pages take seconds: a process with limits reads what may be one.
    """
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    tree.strip_tags(["script"])  # comments in scripts may hold scripts
    title, headline, text = to_markdown(tree.html or "")
    names = (" ".join(unescape(_tag.sub("", name)).split()).strip("¶ ") for name in (title, headline))
    return next(filter(None, names), "")[:500], text
