"""What a model reads of a passage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

EMBEDDED_FIELDS = ("title", "heading", "text")
"""The texts of a passage that models read, in this order."""


def embedded_text(texts: Mapping[str, object]) -> str:
    """Return what is embedded of a passage with these texts by field; others than texts do not count."""
    return _joined(text for name in EMBEDDED_FIELDS if isinstance(text := texts.get(name), str))


def embedded_texts(
    texts: Mapping[str, Sequence[str]], n: int, fields: Sequence[str] = EMBEDDED_FIELDS
) -> list[str]:
    """Return what is embedded of `n` passages with these texts by field, column-wise."""
    columns = [texts[name] for name in fields if name in texts]
    return [_joined(parts) for parts in zip(*columns, strict=True)] or [""] * n


def _joined(texts: Iterable[str]) -> str:
    """Return texts of a passage as one; empty ones leave no trace."""
    return " ".join(text for text in texts if text)
