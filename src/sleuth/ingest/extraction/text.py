"""What extracting a file gives: its text, in which rows of long tables name their columns, or why there is none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

_LONG: Final = 1_200
"""Characters of a table that surely fits a passage together with its header."""
_MOST_COLUMNS: Final = 100
"""Most columns of a row with names: each row repeats all names."""
_table = re.compile(r"^\|[^\n]*(?:\n\|[^\n]*)+", re.MULTILINE)
_fence = re.compile(r"^(```|~~~)\n.*?^\1$", re.MULTILINE | re.DOTALL)
_rule = re.compile(r"\|(?: ?:?-+:? ?\|)+")


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a file.

    Attributes:
        title: stated by the file; "" if it states none.
        metadata: other facts that the file states, as JSON values.
    """

    text: str
    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


class ExtractionError(Exception):
    """No text could be extracted; the message is the reason.

    Attributes:
        kind: of the `LoadError`: "limits" where it exceeded a limit of memory or size, else "invalid".
    """

    def __init__(self, reason: str, *, limit: bool = False) -> None:
        super().__init__(reason)
        self.kind: Literal["limits", "invalid"] = "limits" if limit else "invalid"


def within(text: str, limit: int) -> str:
    """Return a text; raise ExtractionError if it is longer than a limit."""
    if len(text) > limit:
        raise ExtractionError(f"holds more than {limit:,} characters of text", limit=True)
    return text


def name_columns(markdown: str) -> str:
    """Return Markdown in which the rows of tables over 1,200 characters name their columns.

    The first row of a table is its header. A table whose rows have other numbers of cells stays as it is.
    """
    if "\n|" not in markdown:
        return markdown
    parts: list[str] = []
    end = 0
    for fence in _fence.finditer(markdown):
        parts += (_table.sub(_named, markdown[end : fence.start()]), fence[0])
        end = fence.end()
    parts.append(_table.sub(_named, markdown[end:]))
    return "".join(parts)


def named_row(names: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as `| name: cell | name: cell |`, without its empty cells."""
    pairs = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell]
    return f"| {' | '.join(pairs)} |" if pairs else ""


def _named(table: re.Match[str]) -> str:
    text = table[0]
    if len(text) <= _LONG:
        return text
    first, *lines = text.split("\n")
    names = _cells(first)
    rows = [_cells(line) for line in lines if not _rule.fullmatch(line)]
    if not 1 < len(names) <= _MOST_COLUMNS or any(len(row) != len(names) for row in rows):
        return text
    return "\n".join([first, *filter(None, (named_row(names, row) for row in rows))])


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split(" | ")]
