"""The used names and import statements of a file, from what the queries captured."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from sleuth.code.parsing.kinds import ROLE_OF_CAPTURE, ROLES
from sleuth.code.parsing.tables import ImportRow, Table, table_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from sleuth.code.parsing.definitions import Match
    from sleuth.code.parsing.lines import LineIndex
    from sleuth.code.parsing.scopes import Scopes

_MAX_QUALIFIER: Final = 80
_CALL: Final = ROLES.index("call")
_INSTANTIATION: Final = ROLES.index("instantiation")
_NAME = itemgetter("name")
_START, _END = attrgetter("start_byte"), attrgetter("end_byte")


def references_of(
    matches: Sequence[tuple[str, Sequence[Match]]],
    lines: LineIndex,
    scopes: Scopes,
    defined: Sequence[int],
    *,
    capitals: bool,
) -> Table:
    """Return the used names in order of place, each once.

    Args:
        matches: by subject of their pattern.
        scopes: of the definitions.
        defined: where their names begin; those are no uses.
        capitals: whether a call of a capitalised name makes an object.
    """
    starts: list[int] = []
    ends: list[int] = []
    roles: list[int] = []
    before: list[list[Node] | None] = []
    for subject, group in matches:
        names = list(chain.from_iterable(map(_NAME, group)))
        starts += map(_START, names)
        ends += map(_END, names)
        roles += [ROLES.index(ROLE_OF_CAPTURE[subject])] * len(names)
        before += [match.get("qualifier") for match in group]
    found = np.array([starts, ends, roles], np.int32).reshape(3, -1)
    qualifier = np.zeros((len(before), 2), np.int32)
    for column, place in enumerate((_START, _END)):
        qualifier[:, column] = [place(nodes[0]) if nodes else 0 for nodes in before]
    order = np.lexsort((-qualifier[:, 1], found[2], found[1], found[0]))
    start, end, role = found[:, order]
    qualifier = qualifier[order]
    kept = (end > start) & ~np.isin(start, defined)  # tree-sitter makes up an empty name where one is missing
    kept[1:] &= (start[1:] != start[:-1]) | (end[1:] != end[:-1])
    start, end, role, qualifier = start[kept], end[kept], role[kept], qualifier[kept]
    if capitals:
        _mark_instantiations(lines.source, start, end, role)
    size = np.minimum(qualifier[:, 1] - qualifier[:, 0], _MAX_QUALIFIER)
    back = np.where(size > 0, start - (qualifier[:, 1] - size), 0)
    columns = (lines.lines_of(start), start, end - start, back, size, role, scopes.at(start))
    table = np.empty((len(start), len(columns)), np.int32)
    for number, column in enumerate(columns):
        table[:, number] = column
    return table


def _mark_instantiations(source: bytes, start: Table, end: Table, role: Table) -> None:
    """Give calls of names such as `Order`, unlike `ORDER`, the role of making an object."""
    text = np.frombuffer(source, np.uint8)
    first = text[np.minimum(start, len(text) - 1)] if len(text) else text
    for i in np.flatnonzero((role == _CALL) & ((first < ord("a")) | (first > 127))).tolist():
        name = source[start[i] : end[i]].decode("utf-8", "replace")
        if name[:1].isupper() and not name.isupper():
            role[i] = _INSTANTIATION


def imports_of_matches(matches: Sequence[Match], lines: LineIndex, scopes: Scopes) -> Table:
    """Return the import statements in order of place; what stands inside another is part of it."""
    spans = sorted((match["import"][0].start_byte, -match["import"][0].end_byte) for match in matches)
    outer: list[tuple[int, int]] = []
    for start, end in spans:
        if not outer or start >= outer[-1][1]:
            outer.append((start, -end))
    symbols = scopes.at(np.array([start for start, _ in outer], np.int32)).tolist()
    rows = [
        ImportRow(lines.line(start), start, end, symbol)
        for (start, end), symbol in zip(outer, symbols, strict=True)
    ]
    return table_of(rows, ImportRow)
