"""Prepares texts for the default embedder, whose vocabulary knows words in small letters, whole and composed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_SOFT_HYPHEN: Final = "\u00ad"
_LINE_END: Final = re.compile("[-\u2010](?<=[^\\W\\d_].)\r?\n[ \t]*(?=[^\\W\\d_])")
"""A hyphen between letters at a line end, with the blanks that begin the next line."""


def legible(text: str) -> bytes:
    """Return a text in UTF-8 as the embedder reads it, which is the same in capitals and in small letters.

    Case is folded, which also writes ligatures as their letters. A word broken by a hyphen at a line end is one word,
    and a letter with an accent one character. Soft hyphens are dropped.
    """
    text = text.lower() if text.isascii() else _folded(text)
    if "-\n" in text or "-\r\n" in text or "\u2010" in text:
        text = _LINE_END.sub("", text)
    return text.encode("utf-8", "replace")  # a lone surrogate has no UTF-8


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold()).replace(_SOFT_HYPHEN, "")


@lru_cache(maxsize=16)
def legible_query(query: str) -> bytes:
    """Return `legible` of a query, which is read for its vector and then for its tokens."""
    return legible(query)
