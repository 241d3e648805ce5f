"""Removes or escapes characters that a person does not see, and that a model reads or a terminal obeys."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable

_JOINERS = "\u200c\u200d"
"""Invisible, but spelling in Persian, Indic scripts and emoji needs them."""

_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs"})
"""Controls, formats, characters for private use, lone surrogates."""

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, formats (marks of direction, tags), lone surrogates, separators of lines and paragraphs."""


def clean_text(text: str) -> str:
    """Drop characters that no person sees: controls, direction marks, tags, and those for private use."""
    visible = f"\n\t{_JOINERS}"
    unseen = [char for char in set(text) if char not in visible and unicodedata.category(char) in _UNSEEN]
    return text.translate(dict.fromkeys(map(ord, unseen))) if unseen else text


def escape_text(text: str) -> str:
    r"""Write invisible characters as escapes such as `\x1b` and `\u202e`, so that a terminal shows them.

    Newlines, tabs and joiners stay; a carriage return before a newline is dropped.
    """
    return text if text.isprintable() else _escaped(text.replace("\r\n", "\n"), ascii)


def escape_json(text: str) -> str:
    r"""Write invisible characters of a JSON document as `\uXXXX` or `\r`, which reads back as the same document."""
    return _escaped(text, json.dumps)


def _escaped(text: str, quote: Callable[[str], str]) -> str:
    escapes = {
        ord(char): quote(char)[1:-1] for char in set(text) if char not in "\n\t" and is_invisible(char)
    }
    return text.translate(escapes) if escapes else text


def is_invisible(char: str) -> bool:
    """Return whether a character draws nothing by itself; joiners and unassigned ones do not count."""
    return unicodedata.category(char) in _CATEGORIES and char not in _JOINERS
