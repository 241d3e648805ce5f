"""Where is a file cut into pieces that each say one thing?

A definition is a chunk, with the comment and decorators before it. A long container becomes its own outline (all of it
that is no member) and its members; a long body is cut where statements begin; what stands between definitions is
kept as module-level code. Chunks are whole lines, do not overlap, and leave out blank lines only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sleuth.code.parsing.parse import LineIndex

WHOLE_LINES = 80
"""A definition up to this long is one chunk."""
CONTAINER_LINES = 24
"""A container up to this long is one chunk, members and all."""
PART_LINES = 50
"""Pieces of what is longer hold about this many lines."""


KINDS_OF_CHUNKS = ("definition", "outline", "part", "module", "text")
"""By number in `cutting.h`, which cuts what was parsed; what was not is cut here."""


class Chunk(NamedTuple):
    """Lines `start` to `end`, 1-based and inclusive.

    Attributes:
        symbol: position of the definition that these lines are, or stand in; -1 at the file's top.
        kind: definition, outline (of a container), part (of a long definition), module (code between definitions) or
            text (where no grammar was used).
    """

    start: int
    end: int
    symbol: int
    kind: str


def cut_text(source: bytes, lines: LineIndex) -> list[Chunk]:
    """The chunks of a text by its layout: sections, then paragraphs, packed to about `PART_LINES` lines."""
    borders = []
    blank = True
    for line in range(1, len(lines) + 1):
        text = source[lines.start(line) : lines.stop(line)]
        if text.strip() and text[:1] not in b" \t)}]" and (blank or text.startswith(b"#")):
            borders.append(line)
        blank = not text.strip()
    return [
        Chunk(a, b, -1, "text")
        for first, last in _pack(1, len(lines), borders)
        for a, b in _trim(first, last, source, lines)
    ]


def _trim(first: int, last: int, source: bytes, lines: LineIndex) -> list[tuple[int, int]]:
    """The lines without blank ones at either end; none where all are blank."""
    while first <= last and not source[lines.start(first) : lines.stop(first)].strip():
        first += 1
    while last >= first and not source[lines.start(last) : lines.stop(last)].strip():
        last -= 1
    return [(first, last)] if first <= last else []


def _pack(first: int, last: int, borders: list[int]) -> list[tuple[int, int]]:
    """Ranges of about `PART_LINES` lines that begin at borders, or where there are none at every such line."""
    out = []
    inside = [b for b in borders if first < b <= last]
    at = first
    i = 0
    while last - at + 1 > PART_LINES:
        best = 0
        while i < len(inside) and inside[i] <= at + PART_LINES:
            best = inside[i]
            i += 1
        if best <= at:
            best = at + PART_LINES
        out.append((at, best - 1))
        at = best
    out.append((at, last))
    return out
