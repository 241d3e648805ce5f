"""What is embedded of a passage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

FIELDS = ("title", "heading", "text")
"""The texts of a passage that are embedded, in this order."""


def embedded_text(texts: Mapping[str, object]) -> str:
    """Return what is embedded of a passage with these texts by field; others than texts do not count."""
    return join_texts(text for name in FIELDS if isinstance(text := texts.get(name), str))


def join_texts(texts: Iterable[str]) -> str:
    """Return texts of a passage as one; empty ones leave no trace."""
    return " ".join(text for text in texts if text)
