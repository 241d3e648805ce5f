"""Where is a file cut into pieces that each say one thing?

A definition is a chunk, with the comment and decorators before it. A long container becomes its own outline (all of it
that is no member) and its members; a long body is cut where statements begin; what stands between definitions is
kept as module-level code. Chunks are whole lines, do not overlap, and leave out blank lines only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sleuth.code.parse import CONTAINERS, LineIndex, Parsed

if TYPE_CHECKING:
    from tree_sitter import Node

WHOLE_LINES = 80
"""A definition up to this long is one chunk."""
CONTAINER_LINES = 24
"""A container up to this long is one chunk, members and all."""
PART_LINES = 50
"""Pieces of what is longer hold about this many lines."""


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


def cut(parsed: Parsed, source: bytes, lines: LineIndex) -> list[Chunk]:
    """The chunks of a parsed file, in order of lines."""
    cutter = _Cutter(parsed, source, lines)
    cutter.region(1, len(lines), -1)
    return cutter.chunks


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


class _Cutter:
    def __init__(self, parsed: Parsed, source: bytes, lines: LineIndex) -> None:
        self.chunks: list[Chunk] = []
        self._parsed = parsed
        self._source = source
        self._lines = lines
        self._members: dict[int, list[int]] = {}
        inside: list[bool] = []
        for i, symbol in enumerate(parsed.symbols):
            parent = symbol.parent
            opaque = parent >= 0 and (inside[parent] or parsed.symbols[parent].kind not in CONTAINERS)
            inside.append(opaque)
            if not opaque and symbol.kind not in ("constant", "attribute"):
                self._members.setdefault(parent, []).append(i)

    def region(self, first: int, last: int, owner: int) -> None:
        """Cuts the lines `first` to `last` of `owner` around the definitions in them."""
        at = first
        for i in self._members.get(owner, ()):
            symbol = self._parsed.symbols[i]
            start, end = max(symbol.start, at), min(symbol.end, last)
            if end < start:
                continue
            self._between(at, start - 1, owner)
            self._definition(start, end, i)
            at = end + 1
        self._between(at, last, owner)

    def _definition(self, start: int, end: int, i: int) -> None:
        size = end - start + 1
        container = self._parsed.symbols[i].kind in CONTAINERS and i in self._members
        if size <= (CONTAINER_LINES if container else WHOLE_LINES):
            self.chunks.append(Chunk(start, end, i, "definition"))
        elif container:
            self.region(start, end, i)
        else:
            self._parts(start, end, i, "part", self._parsed.cuts[i])

    def _between(self, first: int, last: int, owner: int) -> None:
        if last < first:
            return
        kind = "module" if owner < 0 else "outline"
        node = self._parsed.root if owner < 0 else self._parsed.cuts[owner]
        if last - first < WHOLE_LINES:
            self._keep(first, last, owner, kind)
        else:
            self._parts(first, last, owner, kind, node)

    def _parts(self, first: int, last: int, symbol: int, kind: str, node: Node | None) -> None:
        borders = sorted(set(_borders(node, first, last))) if node is not None else []
        for a, b in _pack(first, last, borders):
            self._keep(a, b, symbol, kind)

    def _keep(self, first: int, last: int, symbol: int, kind: str) -> None:
        for a, b in _trim(first, last, self._source, self._lines):
            text = self._source[self._lines.start(a) : self._lines.stop(b)]
            if kind == "outline" and not any(c.isalnum() for c in text.decode("utf-8", "ignore")):
                last_chunk = self.chunks[-1] if self.chunks else None
                if last_chunk is not None and last_chunk.end < a:
                    self.chunks[-1] = last_chunk._replace(end=b)
                    continue
            self.chunks.append(Chunk(a, b, symbol, kind))


def _trim(first: int, last: int, source: bytes, lines: LineIndex) -> list[tuple[int, int]]:
    """The lines without blank ones at either end; none where all are blank."""
    while first <= last and not source[lines.start(first) : lines.stop(first)].strip():
        first += 1
    while last >= first and not source[lines.start(last) : lines.stop(last)].strip():
        last -= 1
    return [(first, last)] if first <= last else []


def _borders(node: Node, first: int, last: int) -> list[int]:
    """Lines where statements begin, deeper only where a statement is long itself."""
    found: list[int] = []
    for child in node.named_children:
        start, end = child.start_point[0] + 1, child.end_point[0] + 1
        if end < first or start > last:
            continue
        if first < start:
            found.append(start)
        if min(end, last) - max(start, first) >= PART_LINES:
            found += _borders(child, first, last)
    return found


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
