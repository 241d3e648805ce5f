r"""Lines of a source: those that `\n` ends, numbered from 1."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NEWLINE = 10
ASIDES: Final = re.compile(
    rb"(?P<string>@\"[^\"]*\"?|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n]){1,4}')|//[^\n]*|/\*(?:.*?\*/|.*)"
    rb"|^[ \t]*+#[ \t]*+(?P<word>\w*+)(?:\\\r?\n|/\*(?:.*?\*/|.*)|[^\n])*",
    re.MULTILINE | re.DOTALL,
)
"""A string, a comment of the family of C, or a line for its preprocessor with its word."""


class LineIndex:
    """Byte offsets to lines and back."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.size = len(source)

    @cached_property
    def newlines(self) -> NDArray[np.int64]:
        """Bytes that end lines, shape (n,)."""
        return np.flatnonzero(np.frombuffer(self.source, np.uint8) == _NEWLINE)

    @cached_property
    def starts(self) -> list[int]:
        """The first byte of each line."""
        return [0, *(self.newlines + 1).tolist()]

    def line(self, byte: int) -> int:
        """Return the line of a byte, 1-based."""
        return bisect_right(self.starts, byte)

    def lines_of(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the line of each byte, 1-based; shape (n,)."""
        return np.searchsorted(self.newlines, places) + 1

    def start(self, line: int) -> int:
        """Return the first byte of a line."""
        return self.starts[line - 1]

    def stop(self, line: int) -> int:
        """Return one past the last byte of a line, its newline left out."""
        return self.starts[line] - 1 if line < len(self.starts) else self.size

    def text(self, line: int) -> bytes:
        """Return a line without blanks at either end."""
        starts = self.starts
        return self.source[starts[line - 1] : starts[line] if line < len(starts) else self.size].strip()

    def cut(self, first: int, last: int) -> str:
        """Return lines `first` to `last`, as far as they are there, without the newline after the last."""
        end_line = min(last, len(self))
        if first > end_line:
            return ""
        return self.source[self.start(first) : self.stop(end_line)].decode("utf-8", "surrogatepass")

    def __len__(self) -> int:
        count = len(self.starts)
        return count - 1 if self.starts[-1] == self.size else count
