"""Extracts text from spreadsheets: a section for each sheet, whose rows name their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from io import BytesIO
from itertools import chain, islice
from typing import Any, Final

from sleuth.ingest.extraction import Extracted, ExtractionError, named_row, within
from sleuth.plugins.office.opendocument import extract_opendocument
from sleuth.plugins.office.zips import opened_zip

_HEADER_ROWS: Final = 10
"""Rows at the top of a sheet among which its header is looked for: titles and remarks may stand above it."""
_ZIP: Final = b"PK"


def extract_spreadsheet(data: bytes, limit: int) -> Extracted:
    """Extract all sheets as Markdown. Formulas give the values that were stored with them."""
    import python_calamine

    if data.startswith(_ZIP):
        with opened_zip(data, limit, "a spreadsheet"):
            pass
    try:
        book = python_calamine.load_workbook(BytesIO(data))
        length = 0
        sheets: list[str] = []
        for name in book.sheet_names:
            rows = book.get_sheet_by_name(name).iter_rows()
            lines: list[str] = []
            for line in _lines(rows):
                lines.append(line)
                length += len(line) + 1
                if length > limit:
                    within(line * 2, len(line))
            if lines:
                sheets.append("\n".join([f"# {name}", "", *lines]))
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        if "password" in str(error).lower():
            raise ExtractionError("protected by a password") from error
        raise ExtractionError(
            f"not readable as a spreadsheet: {str(error) or type(error).__name__}"
        ) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of pyo3: no Exception, and in no module
            raise
        raise ExtractionError(f"not readable as a spreadsheet: {error}") from None
    if not sheets:
        raise ExtractionError("no text in its sheets")
    return Extracted("\n\n".join(sheets), metadata={"sheets": len(book.sheet_names)})


def extract_ods(data: bytes, limit: int) -> Extracted:
    """Extract a sheet of OpenDocument, as a document with tables where it is not readable as a spreadsheet."""
    try:
        return extract_spreadsheet(data, limit)
    except ExtractionError as error:
        if error.kind == "limits":
            raise
        try:
            return extract_opendocument(data, limit)
        except ExtractionError:
            raise error from None


def _lines(rows: Iterator[Sequence[Any]]) -> Iterator[str]:
    """Yield the rows of a sheet that are not blank, those below the header with the names of their columns.

    The header is the first of the topmost rows that has the most cells, all of them texts.
    """
    top = list(islice((row for row in rows if any(cell not in ("", None) for cell in row)), _HEADER_ROWS))
    names: list[str] = []
    header = _header(top)
    for number, row in enumerate(chain(top, rows)):
        cells = [_text(cell) for cell in row]
        if number < len(top) or any(cells):
            yield named_row(names, cells) if names else f"| {' | '.join(filter(None, cells))} |"
        if number == header:
            names = cells


def _header(rows: Sequence[Sequence[Any]]) -> int | None:
    """Return the position of the header among the topmost rows, or None."""
    widths = [sum(cell not in ("", None) for cell in row) for row in rows]
    for number, row in enumerate(rows[:-1]):
        texts = sum(isinstance(cell, str) and bool(cell.strip()) for cell in row)
        if texts == widths[number] == max(widths) and texts > 1:
            return number
    return None


def _text(value: Any) -> str:
    """Return a cell as a person reads it."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        is_midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
        return value.date().isoformat() if is_midnight else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return " ".join(str(value).split())
