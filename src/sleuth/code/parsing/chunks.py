"""Where a file is cut into pieces that each say one thing.

A definition is a chunk, with the comment and decorators before it. A long container becomes its own outline (all of it
that is no member) and its members; a long body is cut where statements begin; code between definitions is module-level
code. Chunks are whole lines, do not overlap, and leave out blank lines only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sleuth.code.parsing.kinds import CHUNK_KINDS, CONTAINERS
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.parsing.tables import ChunkRow, Table, table_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sleuth.code.parsing.definitions import ParsedDefinition

WHOLE_LINES = 80
"""A definition up to this long is one chunk."""
CONTAINER_LINES = 24
"""A container up to this long is one chunk, members and all."""
PART_LINES = 50
"""Longer bodies are cut into pieces of about this many lines."""

_DEFINITION, OUTLINE, PART, MODULE, _TEXT = range(len(CHUNK_KINDS))
_MOST_NESTED = 100
_SAYS_SOMETHING: Final = re.compile(rb"[A-Za-z0-9\xc3-\xe1\xe4-\xef]")
"""Letters or digits; of other scripts too, but not their punctuation."""


def unit_at(chunks: Sequence[ChunkRow], chunk: int) -> range:
    """Return the chunks that a definition was cut into, of which one is given; it alone if it was not cut."""
    first, stop = chunk, chunk + 1
    if chunks[chunk].kind == PART:
        unit_key = PART, chunks[chunk].symbol
        while first and (chunks[first - 1].kind, chunks[first - 1].symbol) == unit_key:
            first -= 1
        while stop < len(chunks) and (chunks[stop].kind, chunks[stop].symbol) == unit_key:
            stop += 1
    return range(first, stop)


def cut_text(lines: LineIndex) -> Table:
    """Return the chunks of a text by its layout: sections, then paragraphs, packed to about `PART_LINES` lines."""
    borders = []
    is_blank = True
    for line in range(1, len(lines) + 1):
        text = lines.source[lines.start(line) : lines.stop(line)]
        if text.strip() and text[:1] not in b" \t)}]" and (is_blank or text.startswith(b"#")):
            borders.append(line)
        is_blank = not text.strip()
    parts = (_trimmed(lines, first, last_line) for first, last_line in _packed(1, len(lines), borders))
    return table_of([ChunkRow(*part, -1, _TEXT) for part in parts if part is not None], ChunkRow)


def cut_definitions(
    roots: Sequence[Node], definitions: Sequence[ParsedDefinition], lines: LineIndex
) -> Table:
    """Return the chunks of a parsed file.

    Args:
        roots: of the trees of the file and of its parts in other languages.
        definitions: in order of start, containers first.
    """
    cutter = _Cutter(roots, definitions, lines)
    cutter.cut_region(1, len(lines), -1, 0)
    return table_of(cutter.chunks, ChunkRow)


class _Cutter:
    """Cuts one file, from its first line to its last."""

    def __init__(
        self, roots: Sequence[Node], definitions: Sequence[ParsedDefinition], lines: LineIndex
    ) -> None:
        self.roots = roots
        self.definitions = definitions
        self.lines = lines
        members: dict[int, list[int]] = defaultdict(list)
        opaque: list[bool] = []
        for i, definition in enumerate(definitions):
            parent = definition.parent
            is_inner = parent >= 0 and (opaque[parent] or definitions[parent].kind not in CONTAINERS)
            opaque.append(is_inner)
            if not is_inner and definition.kind not in ("constant", "attribute"):
                members[parent].append(i)
        self.members = dict(members)
        self.chunks: list[ChunkRow] = []

    def cut_region(self, first: int, last: int, owner: int, nested: int) -> None:
        """Cut the lines of a definition, or with -1 of the file, around and inside its members."""
        at = first
        for i in self.members.get(owner, ()):
            definition = self.definitions[i]
            start, end = max(definition.first, at), min(definition.last, last)
            if end < start:
                continue
            self._cut_between(at, start - 1, owner)
            is_container = definition.kind in CONTAINERS and i in self.members and nested < _MOST_NESTED
            if end - start < (CONTAINER_LINES if is_container else WHOLE_LINES):
                self.chunks.append(ChunkRow(start, end, i, _DEFINITION))
            elif is_container:
                self.cut_region(start, end, i, nested + 1)
            else:
                self._cut_parts(start, end, i, PART, [definition.node])
            at = end + 1
        self._cut_between(at, last, owner)

    def _cut_between(self, first: int, last: int, owner: int) -> None:
        """Cut the lines of a definition, or with -1 of the file, that belong to none of its members."""
        kind = MODULE if owner < 0 else OUTLINE
        if last - first < WHOLE_LINES:
            self._keep(first, last, owner, kind)
        else:
            nodes = self.roots if owner < 0 else [self.definitions[owner].node]
            self._cut_parts(first, last, owner, kind, nodes)

    def _cut_parts(self, first: int, last: int, owner: int, kind: int, nodes: Sequence[Node]) -> None:
        borders = sorted({line for node in nodes for line in _statement_lines(node, first, last)})
        for start, end in _packed(first, last, borders):
            self._keep(start, end, owner, kind)

    def _keep(self, first: int, last: int, owner: int, kind: int) -> None:
        part = _trimmed(self.lines, first, last)
        if part is None:
            return
        start, end = part
        if kind == OUTLINE and self.chunks and self.chunks[-1].end < start:
            text = self.lines.source[self.lines.start(start) : self.lines.stop(end)]
            if not _SAYS_SOMETHING.search(text):  # a closing bracket goes with what it closes
                self.chunks[-1] = self.chunks[-1]._replace(end=end)
                return
        self.chunks.append(ChunkRow(start, end, owner, kind))


def _statement_lines(node: Node, first: int, last: int) -> list[int]:
    """Return the lines where statements of a node begin, deeper only where a statement is long itself; ascending."""
    borders: list[int] = []
    waiting = [iter(node.named_children)]
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
            continue
        start, end = child.start_point.row + 1, child.end_point.row + 1
        if end < first or start > last:
            continue
        if start > first:
            borders.append(start)
        if min(end, last) - max(start, first) >= PART_LINES:
            waiting.append(iter(child.named_children))
    return borders


def _trimmed(lines: LineIndex, first: int, last_line: int) -> tuple[int, int] | None:
    """Return the lines without blank ones at either end; None where all are blank."""
    while first <= last_line and not lines.text(first):
        first += 1
    while last_line >= first and not lines.text(last_line):
        last_line -= 1
    return (first, last_line) if first <= last_line else None


def _packed(first: int, last: int, borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of about `PART_LINES` lines that begin at borders, or, without borders, at any line."""
    at = first
    i = 0
    while last - at + 1 > PART_LINES:
        best = 0
        while i < len(borders) and borders[i] <= at + PART_LINES:
            best = borders[i]
            i += 1
        if best <= at:
            best = at + PART_LINES
        yield at, best - 1
        at = best
    yield at, last
