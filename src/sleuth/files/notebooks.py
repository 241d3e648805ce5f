"""Cells of Jupyter notebooks, for documents and for code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Notebook(NamedTuple):
    """A notebook as it is in its file.

    Attributes:
        language: of its code, as its kernel spells it.
        cells: as the format has them; `source_of` reads their text.
    """

    language: str
    cells: Sequence[Mapping[str, Any]]


def read_notebook(text: str) -> Notebook:
    """Return the cells of a notebook of format 3 or 4.

    Raises:
        ValueError, LookupError, TypeError, AttributeError, RecursionError: it is no notebook.
    """
    notebook = json.loads(text)
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    stated = notebook.get("metadata", {})
    name = stated.get("language_info", {}).get("name") or stated.get("kernelspec", {}).get("language")
    return Notebook(name if isinstance(name, str) else "python", cells)


def source_of(cell: Mapping[str, Any]) -> str:
    """Return the text of a cell."""
    return text_of(cell.get("source", cell.get("input", "")))


def text_of(lines: str | list[str]) -> str:
    """Return a text that a notebook holds whole, or as a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)
