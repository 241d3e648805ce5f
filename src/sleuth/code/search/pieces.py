"""Functions by position, ranked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sleuth.types import Explanation


class Function(NamedTuple):
    """A function or method, by the position of its file and its place among the symbols there."""

    file: int
    symbol: int


@dataclass(frozen=True, slots=True)
class FunctionPiece:
    """A function, ranked: a score in [0, 1] and why."""

    function: Function
    score: float
    explanation: Explanation

    @property
    def file(self) -> int:
        """The position of its file."""
        return self.function.file
