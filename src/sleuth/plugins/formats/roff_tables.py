"""Tables of manual pages (tbl) as rows of Markdown, each at the line where it ends."""

from __future__ import annotations

import re
from typing import Final

from sleuth.ingest.extraction import named_row

_separator = re.compile(r"\btab\s*\((.)\)")
_BEGIN, _END = "T{", "T}"
"""Around the text of a cell that has lines of its own."""
_RULES: Final = frozenset({"_", "="})


class RoffTable:
    """Reads a table line by line.

    A first row with a rule below it names the columns of the others.
    """

    def __init__(self) -> None:
        self._separator = "\t"
        self._has_format = False
        self._inside = False
        self._row = ""
        self._rows = 0
        self._names: list[str] = []
        self._first: list[str] = []

    def line(self, text: str) -> str:
        """Return the row that ends with this line, or ""."""
        text = text.rstrip("\r")
        if not self._has_format:
            if text.rstrip().endswith(";") and (option := _separator.search(text)):
                self._separator = option.group(1)
            self._has_format = text.rstrip().endswith(".")
            return ""
        if self._inside:
            self._inside = not text.startswith(_END)
            self._row += f" {text}" if self._inside else text.removeprefix(_END)
        elif text.startswith(".T&"):
            self._has_format = False
        elif text.startswith("."):
            return ""
        elif text.strip() in _RULES:
            self._names = self._names or (self._first if self._rows == 1 else [])
            return ""
        else:
            self._row = text
        if self._row.endswith(_BEGIN):
            self._row = self._row.removesuffix(_BEGIN)
            self._inside = True
        return "" if self._inside else self._finished()

    def _finished(self) -> str:
        cells = [cell.strip() for cell in self._row.split(self._separator)]
        self._row = ""
        if not any(cells):
            return ""
        self._rows += 1
        self._first = self._first or cells
        if self._names and len(self._names) >= len(cells):
            return named_row(self._names, cells)
        return f"| {' | '.join(cells)} |"
