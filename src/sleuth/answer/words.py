"""Passages and their pages as words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sleuth.text.analyzers import get_analyzer
from sleuth.types import RetrievedItem

Analyze = Callable[[Sequence[str]], list[list[str]]]
"""Texts to the terms of each."""

Rarity = Callable[[Iterable[str]], Mapping[str, float]]
"""Terms to what each is worth: its idf in the corpus, the largest for a term that the corpus does not hold."""

WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
"""A word; characters of scripts without spaces are words one by one."""


def plain_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text in lower case."""
    return [WORD.findall(text.casefold()) for text in texts]


def is_code(item: RetrievedItem) -> bool:
    """Return whether a passage is source code, and no file for people among it."""
    is_prose = item.metadata.get("language") in ("asciidoc", "markdown", "org", "rst", "text")
    return item.metadata.get("source_type") == "code" and not is_prose


def in_words(text: str, item: RetrievedItem) -> str:
    """Return a text of a passage; of code, with the words of its identifiers beside them."""
    if not is_code(item):
        return text
    return f"{text}\n{' '.join(get_analyzer('code').tokens(text))}"


def page_of(item: RetrievedItem) -> str:
    """Return what stands above a passage: title and headings of its page; of code, its file and the name in it."""
    metadata = item.metadata
    if is_code(item):
        return f"{metadata.get('path') or ''} {metadata.get('symbol') or ''}".strip()
    title, heading = str(metadata.get("title") or ""), str(metadata.get("heading") or "")
    return heading if heading.startswith(title) else f"{title} > {heading}" if heading else title
