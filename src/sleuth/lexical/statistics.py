"""Statistics of a field that BM25 needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.store.disk.scratch import windows


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

    @classmethod
    def of_rows(cls, lengths: NDArray[np.uint32]) -> FieldLengths:
        """Add up the lengths of rows, shape (n,); the memory of the file behind them is let go."""
        total = filled = 0
        for piece in windows(lengths):
            total, filled = total + int(piece.sum(dtype=np.int64)), filled + int(np.count_nonzero(piece))
        return cls(total, filled)
