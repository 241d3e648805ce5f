"""Fields and those of one language each: which rows feed them, with which analyzer, and how long the rows are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.store import Rows, SegmentView
from sleuth.store.disk.scratch import let_go
from sleuth.store.legs.leg import Table
from sleuth.text.languages import ENGLISH, LANGUAGES, LANGUAGES_VERSION

ROW_LENGTHS: Final = "lengths"
ROW_LANGUAGES: Final = "languages"
"""Arrays of the rows of a field."""
_SIGN: Final = "@"
_PIECE: Final = 1 << 18
"""Rows that are added up at a time."""


def is_language_field(name: str) -> bool:
    """Return whether a name is that of a field of a language: "text@de"."""
    _, sign, code = name.partition(_SIGN)
    return bool(sign) and code in LANGUAGES


def base_field(name: str) -> str:
    """Return the field that a field of a language belongs to; other fields belong to themselves."""
    return name.partition(_SIGN)[0]


def analyzer_of(name: str) -> str:
    """Return the analyzer of a field of a language; "" for other fields."""
    _, _, code = name.partition(_SIGN)
    return LANGUAGES[code].analyzer if code else ""


def field_language(name: str) -> str:
    """Return the language that the rows of a field have: English for fields of no language."""
    return name.partition(_SIGN)[2] or ENGLISH


def language_fingerprint() -> str:
    """Changes when the analyzer of any language does, or what a segment keeps of languages."""
    return f"@languages/{LANGUAGES_VERSION} of one length"


def languages_of(rows: Rows) -> list[str] | None:
    """Return the code of the language of each row, "" without an analyzer of its own; None if all are ""."""
    if isinstance(rows.metadata, Table):
        of_documents = rows.metadata.shared.get("language")
        codes = [of_documents[owner] for owner in rows.metadata.owners] if of_documents else []
    else:
        codes = [values.get("language") for values in rows.metadata]
    codes = [code if isinstance(code, str) and code in LANGUAGES else "" for code in codes]
    return codes if any(codes) else None


def separate(
    name: str, sources: Mapping[str, int], texts: Mapping[str, Sequence[str]], languages: Sequence[str] | None
) -> dict[str, Mapping[str, Sequence[str]]]:
    """Return by field the texts that feed it: those of a language feed a field of their own, as "" the others."""
    if languages is None:
        return {name: texts}
    columns = {source: texts[source] for source in sources if source in texts}
    return {
        f"{name}{_SIGN}{code}" if code else name: {
            source: [text if of == code else "" for text, of in zip(column, languages, strict=True)]
            for source, column in columns.items()
        }
        for code in sorted({"", *languages})
    }


class FieldLengths(NamedTuple):
    """Lengths of one field over the live rows of some segments; those of two parts add.

    Attributes:
        total: sum of the lengths, in tokens.
        filled: rows that have the field.
    """

    total: int
    filled: int

    @property
    def average(self) -> float:
        """Mean length of the rows that have the field, in tokens."""
        return self.total / self.filled if self.filled else 0.0

    def bm25_norm(self, k1: float, b: float) -> tuple[float, float]:
        """(c0, c1) such that a row of length L scores tf / (tf + c0 + c1 L): c0 = k1 (1 - b), c1 = k1 b / average."""
        average = self.average
        return k1 * (1 - b), k1 * b / average if average else 0.0


def lengths_by_field(
    names: Sequence[str], lengths: NDArray[np.uint32], languages: NDArray[np.uint8]
) -> dict[str, FieldLengths]:
    """Add up the lengths of rows by field; the memory of the file behind them is let go.

    Args:
        names: of a field, and of those of languages that belong to it.
        lengths: of the rows, each in the one of these fields that has it, shape (n,).
        languages: the place of that field among the names, shape (n,).
    """
    totals, filled = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for first in range(0, len(lengths), _PIECE):
        lengths_of_piece, places = lengths[first : first + _PIECE], languages[first : first + _PIECE]
        totals += np.bincount(places, lengths_of_piece, len(names)).astype(np.int64)
        filled += np.bincount(places[lengths_of_piece > 0], minlength=len(names))
        let_go(lengths)
    return {
        name: FieldLengths(*counts)
        for name, *counts in zip(names, totals.tolist(), filled.tolist(), strict=True)
    }


def row_lengths(segment: SegmentView, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """Return the length of each row of a segment, and the place of its field among the names; shape (n,) both.

    A row has one language, so a field and those of its languages share one array of lengths.

    Args:
        names: of the field, and then those of languages in order, also such as the segment does not have.
    """
    lengths = segment.arrays[f"{names[0]}.{ROW_LENGTHS}"]
    languages = segment.arrays.get(f"{names[0]}.{ROW_LANGUAGES}", np.zeros(len(lengths), np.uint8))
    places = np.array([place for place, name in enumerate(names) if name in segment.meta], np.uint8)
    return lengths, places[languages]
