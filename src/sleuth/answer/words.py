"""Passages and their pages as words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sleuth.types import RetrievedItem

Analyze = Callable[[str], Sequence[str]]
"""Text to terms."""

_IDENTIFIER = re.compile(r"([a-z0-9])(?=[A-Z])|(?<![_./])[_./]+(?=\w)")
"""Where the words of an identifier or a path meet."""


def plain_words(text: str) -> list[str]:
    """Return the words of a text in lower case; characters of scripts without spaces one by one."""
    return re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+",
        text.casefold(),
    )


def readable(item: RetrievedItem) -> tuple[str, str]:
    """Return title and text of a passage as words; of code, its path and its text with identifiers cut into words."""
    if item.metadata.get("source_type") != "code":
        return str(item.metadata.get("title") or ""), item.text
    heading = f"{item.metadata.get('path', '')} {item.metadata.get('symbol', '')}"
    heading, words = (_IDENTIFIER.sub(r"\1 ", text) for text in (heading, item.text))
    return heading, f"{item.text}\n\n{words}"


def language_of(item: RetrievedItem) -> str:
    """Return the ISO 639-1 code of a passage's language; "" where its metadata name none, and for code."""
    is_code = item.metadata.get("source_type") == "code"
    return "" if is_code else str(item.metadata.get("language") or "")


def terms_of(item: RetrievedItem, analyze: Analyze) -> set[str]:
    """Return the terms of a passage and its title."""
    return {term for text in readable(item) for term in analyze(text)}


def page_of(item: RetrievedItem) -> str:
    """Return the title of a page and the headings around a passage."""
    return f"{item.metadata.get('title') or ''} {item.metadata.get('heading') or ''}"
