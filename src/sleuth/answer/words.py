"""Passages and their pages as words, and the names and numbers among these."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sleuth.types import RetrievedItem

Analyze = Callable[[Sequence[str]], list[list[str]]]
"""Texts to the terms of each."""

_IDENTIFIER = re.compile(r"([a-z0-9])(?=[A-Z])|(?<![_./])[_./]+(?=\w)")
"""Where the words of an identifier or a path meet."""


_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def plain_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text in lower case; characters of scripts without spaces one by one."""
    return [_WORD.findall(text.casefold()) for text in texts]


def terms_by_text(texts: Iterable[str], analyze: Analyze) -> dict[str, list[str]]:
    """Return the terms of texts, each read once."""
    distinct = list(dict.fromkeys(texts))
    return dict(zip(distinct, analyze(distinct), strict=True))


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


def terms_of_each(items: Sequence[RetrievedItem], analyze: Analyze) -> list[set[str]]:
    """Return the terms of each passage and its title."""
    return [set(terms) for terms in analyze(["\n".join(readable(item)) for item in items])]


def page_of(item: RetrievedItem) -> str:
    """Return the title of a page and the headings around a passage."""
    return f"{item.metadata.get('title') or ''} {item.metadata.get('heading') or ''}"


_NAME = re.compile(r"(?<!^)(?<![.!?:] )\b[A-Z][\w'-]+")
_AMONG_NOUNS = re.compile(r"\b\w*[^\W\d_a-zà-öø-ÿ]\w*[^\W\d_a-zà-öø-ÿ][\w'-]*")
_NUMBERED = re.compile(r"(?<!^)(?<![.!?:] )\b\w*\d\w*")
_CAPITAL_NOUNS: Final = frozenset({"de", "lb"})
"""Languages that write all nouns with a capital: only a word with two capitals is surely a name."""


def names_of(text: str, language: str = "") -> list[str]:
    """Return the words that are written as names, save the first of a sentence.

    Args:
        language: ISO 639-1 code of the text; "" for English.
    """
    pattern = _AMONG_NOUNS if language in _CAPITAL_NOUNS else _NAME
    return pattern.findall(text)


def names_and_numbers_of(text: str, language: str = "") -> list[str]:
    """Return the same and the words that hold a digit."""
    return [*names_of(text, language), *_NUMBERED.findall(text)]
