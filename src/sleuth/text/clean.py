"""Text without characters that a person does not see."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
"""Invisible, but spelling in Persian, Indic scripts and emoji needs them."""


def clean_text(text: str) -> str:
    """Remove characters that no person sees, and that a model reads or a terminal obeys: controls,
    direction marks, tags.
    """
    return "".join(
        char
        for char in text
        if char in "\n\t" or char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Co", "Cs")
    )
