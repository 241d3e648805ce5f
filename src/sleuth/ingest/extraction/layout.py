"""Lines of a PDF page with their places, in the order in which they are read: column by column."""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pypdfium2

_FEWEST_LINES: Final = 4
"""Lines of a column at least."""
_SHORTEST: Final = 18
"""Characters of an average line of a column of prose; cells of tables are shorter, and are read row by row."""
_WIDE_GAP: Final = 1.2
"""Heights of a line from which on a gap inside it may divide columns."""
_ALIGNED: Final = 4.0
"""Points within which the lines of a column begin; first lines of paragraphs may begin elsewhere."""
_PARAGRAPH: Final = 1.35
"""Usual distances of two lines from which on a gap between them divides paragraphs."""
HYPHEN: Final = "\x02"
"""PDFium's sign for a hyphen at the end of a line."""
_LIGATURES: Final = {0x1B: "ff", 0x1C: "fi", 0x1D: "fl", 0x1E: "ffi", 0x1F: "ffl"}
"""By their codes in the fonts of LaTeX (T1, also called Cork), which many of its PDFs name in no other way."""
_line = re.compile(rf"[^\r\n{HYPHEN}\ufffe]+[{HYPHEN}\ufffe]?")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, or its part in one column. Places are points from the lower left corner of the page."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    baseline: float


@dataclass(frozen=True, slots=True)
class _Box:
    left: float
    bottom: float
    right: float
    top: float


def page_lines(words: pypdfium2.PdfTextPage) -> list[Line]:
    """Return the lines of a page in reading order."""
    text = _text(words)
    lines = [line for match in _line.finditer(text) for line in _pieces(words, text, *match.span())]
    return _joined(in_reading_order(lines))


def _text(words: pypdfium2.PdfTextPage) -> str:
    """Return the characters of a page as PDFium numbers them; `get_text_range` leaves some out."""
    import pypdfium2.raw as pdfium

    count = words.count_chars()
    text: str = words.get_text_range() if count > 0 else ""
    if len(text) != count:
        codes = (pdfium.FPDFText_GetUnicode(words, number) for number in range(count))
        text = "".join(chr(code) if 0 < code < 0x110000 else " " for code in codes)
    return text.encode("utf-8", "replace").decode("utf-8")


def _pieces(words: pypdfium2.PdfTextPage, text: str, start: int, end: int) -> Iterator[Line]:
    """Yield the parts of a line between wide gaps."""
    if not text[start:end].strip():
        return
    boxes = [_Box(*words.get_rect(number)) for number in range(words.count_rects(start, end - start))]
    if not boxes:
        return
    first = 0
    for number in range(1, len(boxes) + 1):
        if number < len(boxes):
            height = max(box.top - box.bottom for box in boxes[number - 1 : number + 1])
            if boxes[number].left - boxes[number - 1].right <= _WIDE_GAP * height:
                continue
        stop = end if number == len(boxes) else _first_from(words, start, end, boxes[number].left)
        around = boxes[first:number]
        if part := text[start:stop].strip(" \t"):
            yield Line(
                part.translate(_LIGATURES),
                min(box.left for box in around),
                min(box.bottom for box in around),
                max(box.right for box in around),
                max(box.top for box in around),
                _baseline(words, start, stop),
            )
        start, first = stop, number


def _baseline(words: pypdfium2.PdfTextPage, start: int, end: int) -> float:
    """Return the height of the line on which the first character that is not generated stands."""
    import pypdfium2.raw as pdfium

    x, y = ctypes.c_double(), ctypes.c_double()
    for number in range(start, end):
        if pdfium.FPDFText_IsGenerated(words, number) == 0:
            pdfium.FPDFText_GetCharOrigin(words, number, x, y)
            break
    return y.value


def _first_from(words: pypdfium2.PdfTextPage, start: int, end: int, edge: float) -> int:
    """Return the first character that stands at or right of a place."""
    import pypdfium2.raw as pdfium

    begins, ends, bottom, top = (ctypes.c_double() for _ in range(4))
    for number in range(start, end):
        stands = pdfium.FPDFText_GetCharBox(words, number, begins, ends, bottom, top)
        if stands and ends.value > begins.value >= edge - 0.5:
            return number
    return end


def in_reading_order(lines: Sequence[Line]) -> list[Line]:
    """Return lines column by column; lines across columns stand between what is above and below them.

    Where there are no columns of prose, lines keep their order.
    """
    gutter = _gutter(lines)
    if gutter is None:
        return list(lines)
    ordered: list[Line] = []
    sides: tuple[list[Line], list[Line]] = ([], [])
    place = {id(line): number for number, line in enumerate(lines)}

    def flush() -> None:
        for side in sides:
            ordered.extend(in_reading_order(sorted(side, key=lambda line: place[id(line)])))
            side.clear()

    for line in sorted(lines, key=lambda line: -line.baseline):
        if line.right <= gutter or line.left >= gutter:
            sides[line.left >= gutter].append(line)
        else:
            flush()
            ordered.append(line)
    flush()
    return ordered


def _gutter(lines: Sequence[Line]) -> float | None:
    """Return the left edge of a column of prose that has another one at its left, or None."""
    edges = sorted(line.left for line in lines)
    crossed: dict[float, int] = {}
    end = float("-inf")
    for number, edge in enumerate(edges):
        if edge < end or bisect_right(edges, edge + _ALIGNED) - number < _FEWEST_LINES:
            continue
        end = edge + _ALIGNED
        gutter = edge - 1
        left_column = [line for line in lines if line.right <= gutter]
        right_column = [line for line in lines if line.left >= gutter]
        across = len(lines) - len(left_column) - len(right_column)
        if (
            _is_column(left_column)
            and _is_column(right_column)
            and _are_beside(left_column, right_column)
            and across <= max(len(left_column), len(right_column))
        ):
            crossed[gutter] = across
    return min(crossed, key=lambda gutter: (crossed[gutter], gutter), default=None)


def _is_column(lines: Sequence[Line]) -> bool:
    return len(lines) >= _FEWEST_LINES and sum(len(line.text) for line in lines) >= _SHORTEST * len(lines)


def _are_beside(column: Sequence[Line], right: Sequence[Line]) -> bool:
    """Return whether two columns share half of the height of the lower one."""
    low = max(min(line.bottom for line in column), min(line.bottom for line in right))
    high = min(max(line.top for line in column), max(line.top for line in right))
    least_height = min(
        max(line.top for line in side) - min(line.bottom for line in side) for side in (column, right)
    )
    return high - low >= least_height / 2


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Return lines whose parts follow each other at the same height joined again: a row of a table is one line."""
    merged_lines: list[Line] = []
    for line in lines:
        line_before = merged_lines[-1] if merged_lines else None
        height = max(line_before.top - line_before.bottom, line.top - line.bottom) if line_before else 0.0
        if (
            line_before is not None
            and line.left >= line_before.right - 1
            and abs(line_before.baseline - line.baseline) < height / 3
        ):
            merged_lines[-1] = Line(
                f"{line_before.text} {line.text}",
                line_before.left,
                min(line_before.bottom, line.bottom),
                line.right,
                max(line_before.top, line.top),
                line_before.baseline,
            )
        else:
            merged_lines.append(line)
    return merged_lines


def paragraphs(lines: Sequence[Line]) -> str:
    """Return lines as text, with a blank line where the page has a larger gap than usual."""
    steps = [above.baseline - below.baseline for above, below in pairwise(lines)]
    down = [step for step in steps if step > 0]
    usual = median(down) if down else 0.0
    parts: list[str] = []
    for line, step in zip(lines, [0.0, *steps], strict=False):
        if parts:
            parts.append("\n\n" if step > _PARAGRAPH * usual else "\n")
        parts.append(line.text)
    return "".join(parts)
