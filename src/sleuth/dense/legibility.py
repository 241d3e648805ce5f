"""Prepares texts for the default embedder, whose vocabulary knows words in small letters, whole and composed."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_CAPITALS: Final = bytes(range(ord("A"), ord("Z") + 1))
_SMALL: Final = bytes(range(ord("a"), ord("z") + 1))
_SAMPLE: Final = 512
"""Bytes of a long text that are counted: counting all would take a third of the time of embedding."""

_LIGATURES: Final = {
    "\u00ad": "", "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st",
    "\ufb06": "st",
}  # fmt: skip
_LIGATURE: Final = re.compile(f"[{''.join(_LIGATURES)}]")
_LINE_END: Final = re.compile("[-\u2010]\r?\n[ \t]*")


def legible(text: str) -> bytes:
    """Return a text in UTF-8 as the embedder reads it.

    A text with over twice as many capitals as small letters is read in small letters, a word broken by a hyphen at a
    line end as one, ligatures as their letters, and letters with accents as one character. Soft hyphens are dropped.
    """
    if not text.isascii():
        text = _LIGATURE.sub(lambda match: _LIGATURES[match[0]], unicodedata.normalize("NFC", text))
    if "-\n" in text or "-\r\n" in text or "\u2010" in text:
        text = _LINE_END.sub(_join, text)
    data = utf8(text)
    return utf8(text.lower()) if is_shouted(data) else data


@lru_cache(maxsize=16)
def legible_query(query: str) -> bytes:
    """Return `legible` of a query, which is read for its vector and then for its tokens."""
    return legible(query)


def is_shouted(data: bytes) -> bool:
    """Return whether a text in UTF-8 has over twice as many capitals as small letters, A to Z."""
    if data.islower():  # most queries: no capital is in them
        return False
    sample = data[:: max(1, len(data) // _SAMPLE)]
    capitals = len(sample) - len(sample.translate(None, _CAPITALS))
    return capitals > 2 * (len(sample) - len(sample.translate(None, _SMALL)))


def utf8(text: str) -> bytes:
    """Return the bytes of any text."""
    return text.encode("utf-8", "replace")  # a lone surrogate has no UTF-8


def _join(end: re.Match[str]) -> str:
    """Return what a hyphen at a line end becomes: itself before a new capital (Anglo-Saxon), else nothing in a word."""
    text, start, after = end.string, end.start(), end.string[end.end() : end.end() + 1]
    before = text[start - 1 : start]
    if not (before.isalpha() and after.isalpha()):
        return end[0]
    return "-" if after.isupper() and not before.isupper() else ""
