"""Statistics of a corpus that BM25 needs: of one index, or summed over the parts of a larger one."""

from __future__ import annotations

from collections.abc import Mapping
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


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus of which a searcher holds a part: with its statistics, scores are those of the whole.

    Attributes:
        statistics: by field.
        frequencies: by field and token, how many rows of the corpus hold it. It must have every token of a query before
            that is searched, and may grow: a number that is there never changes.
    """

    statistics: Mapping[str, FieldStatistics]
    frequencies: Mapping[str, Mapping[str, int]]
