"""Statistics of a field that BM25 needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class FieldLengths(NamedTuple):
    """Lengths of one field over the live rows of some segments; those of two parts add.

    Attributes:
        total: sum of the lengths, in tokens.
        filled: rows that have the field.
    """

    total: int
    filled: int


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """One field over the live rows of all segments.

    Attributes:
        n: rows that have the field.
        average: mean length of those, in tokens.
    """

    n: int
    average: float

    @classmethod
    def of(cls, lengths: FieldLengths) -> FieldStatistics:
        """Return the statistics of rows with these lengths."""
        return cls(lengths.filled, lengths.total / lengths.filled if lengths.filled else 0.0)
