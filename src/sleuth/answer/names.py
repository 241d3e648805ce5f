"""Names and numbers in texts: words with a capital inside a sentence, and words with a digit."""

from __future__ import annotations

import re
from typing import Final

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
