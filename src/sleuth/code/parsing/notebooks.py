"""The code of notebooks, on the lines that it has in their files.

A notebook is JSON with a line of the file for each line of a cell. Its code is a text with as many lines: lines of code
cells stand where they stand in the file, texts are comments, and outputs are blank. A comment before each cell has its
number. Where a program wrote the cells otherwise, they stand one after another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sleuth.code.parsing.language import Language
from sleuth.code.parsing.languages import language_named
from sleuth.files.notebooks import Notebook, read_notebook, source_of

_HEAD: Final = re.compile(r"(?:#|//|--) %% notebook in (\w+)\n")
_SOURCE: Final = re.compile(r'\s*"(?:source|input)":\s*\[\s*')
_MAGIC: Final = re.compile(r"\s*[%!?]")
_PYTHON_CELL: Final = re.compile(r"%%(?:time|timeit|capture|prun)\b")


class NotebookCode(NamedTuple):
    """The code of a notebook as a text in its language."""

    text: str
    language: Language


def code_of_notebook(text: str) -> NotebookCode | None:
    """Return the code of a notebook, also of one that this function has read; None if the text is not a notebook.

    The text decides, and not the name of its file: equal files are kept once.
    """
    if head_match := _HEAD.match(text):
        language = language_named(head_match[1])
        return NotebookCode(text, language) if language else None
    if not text.startswith("{") or '"cells"' not in text or '"nbformat"' not in text:
        return None
    try:
        notebook = read_notebook(text)
        language = language_named(notebook.language)
        return NotebookCode(_code_at_file_lines(text, notebook, language), language) if language else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _code_at_file_lines(text: str, notebook: Notebook, language: Language) -> str:
    """Return the code with each line at its line number in the notebook's JSON.

    Where the lines of a cell cannot be found there, all cells stand one after another.
    """
    raw = text.split("\n")
    comment = language.comment or "#"
    head = f"{comment} %% notebook in {language.name}"
    cells = [(number, cell) for number, cell in enumerate(notebook.cells, 1) if source_of(cell)]
    lines = [""] * len(raw)
    search_start = 1
    for number, cell in cells:
        opening = _opening(raw, search_start, cell)
        if opening < 0:
            break
        lines[opening] = f"{comment} %% cell {number}"
        code = list(_written(cell, language))
        search_start = opening + 1 + len(code)
        lines[opening + 1 : search_start] = code
    else:
        return "\n".join([head, *lines[1:]])
    lines = [head]
    for number, cell in cells:
        lines += ["", f"{comment} %% cell {number}", *_written(cell, language)]
    return "\n".join(lines + [""] * (len(raw) - len(lines)))


def _opening(raw: list[str], after: int, cell: Mapping[str, Any]) -> int:
    """Return the line before the first line of a cell, from 0; -1 where a line of it is no line of the file.

    Args:
        raw: lines of the file.
        after: no line before this one belongs to the cell.
    """
    source = cell.get("source", cell.get("input"))
    if not isinstance(source, list):
        return -1
    for at in range(after, len(raw) - len(source)):
        if _SOURCE.fullmatch(raw[at]) and all(
            _decoded(line) == text for line, text in zip(raw[at + 1 :], source, strict=False)
        ):
            return at
    return -1


def _decoded(line: str) -> object:
    try:
        return json.loads(line.strip().rstrip(","))
    except ValueError:
        return None


def _written(cell: Mapping[str, Any], language: Language) -> Iterator[str]:
    """Yield the lines of a cell: of one without code as comments, and so are commands to the kernel."""
    comment = language.comment or "#"
    source = source_of(cell).removesuffix("\n").split("\n")
    foreign = source[0].startswith("%%") and not _PYTHON_CELL.match(source[0])
    is_text = cell.get("cell_type") != "code" or foreign
    for line in source:
        is_comment = is_text or (language.name == "python" and _MAGIC.match(line))
        yield f"{comment} {line}".rstrip() if is_comment else line
