"""The used names and import statements of a file, from captures of the queries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sleuth.code.parsing.kinds import ROLES
from sleuth.code.parsing.mentions import keep_meant, split_quoted
from sleuth.code.parsing.tables import ImportRow, ReferenceRow, Table, table_of
from sleuth.code.parsing.uses import place_uses

if TYPE_CHECKING:
    from sleuth.code.parsing.definitions import Match, ParsedDefinition
    from sleuth.code.parsing.lines import LineIndex

_MAX_QUALIFIER: Final = 2_000
_CALL: Final = ROLES.index("call")
_INSTANTIATION: Final = ROLES.index("instantiation")
_ROLE = ReferenceRow._fields.index("role")
_NAME = ReferenceRow._fields.index("name")
_NAME_SIZE = ReferenceRow._fields.index("name_size")


def references_of(
    uses: Table,
    bindings: Table,
    lines: LineIndex,
    definitions: Sequence[ParsedDefinition],
    imports: Table,
    *,
    spans: Table,
    capitals: bool,
) -> Table:
    """Return the used names in order of place, each once, without names of definitions; rows of `ReferenceRow`.

    Args:
        uses: as `uses.read_uses` returns them.
        bindings: rows of `BindingRow`.
        definitions: in order of start, containers first.
        imports: rows of `ImportRow`.
        spans: of the definitions, as `spans_of` returns them.
        capitals: whether a call of a capitalised name makes an object.
    """
    uses = split_quoted(lines.source, uses)
    placed = place_uses(uses, lines.newlines, spans, _MAX_QUALIFIER)
    table = keep_meant(lines.source, placed, bindings, definitions, imports)
    if capitals:
        _mark_instantiations(lines.source, table)
    return table


def spans_of(definitions: Sequence[ParsedDefinition]) -> Table:
    """Return start, end, container and start of the name of each definition, shape (definitions, 4)."""
    spans = [(d.start, d.end, d.parent, d.name.start) for d in definitions]
    return np.array(spans, np.int32).reshape(-1, 4)


def _mark_instantiations(source: bytes, table: Table) -> None:
    """Give calls of names such as `Order`, unlike `ORDER`, the role of making an object."""
    if not len(table):
        return
    first = np.frombuffer(source, np.uint8)[table[:, _NAME]]
    calls = (table[:, _ROLE] == _CALL) & ((first < ord("a")) | (first > 127))
    for row in np.flatnonzero(calls).tolist():
        start = table[row, _NAME]
        name = source[start : start + table[row, _NAME_SIZE]].decode("utf-8", "replace")
        if name[:1].isupper() and not name.isupper():
            table[row, _ROLE] = _INSTANTIATION


def imports_of_matches(
    matches: Sequence[Match], lines: LineIndex, definitions: Sequence[ParsedDefinition]
) -> Table:
    """Return the import statements in order of place; one inside another is part of it.

    Args:
        definitions: in order of start, containers first.
    """
    if not matches:
        return table_of([], ImportRow)
    starts = [definition.start for definition in definitions]
    statements = [match["import"][0] for match in matches]
    rows: list[ImportRow] = []
    reached = -1
    for start, longest in sorted((node.start_byte, -node.end_byte) for node in statements):
        if start >= reached:
            reached = -longest
            around = bisect_right(starts, start) - 1
            while around >= 0 and definitions[around].end <= start:
                around = definitions[around].parent
            rows.append(ImportRow(lines.line(start), start, reached, around))
    return table_of(rows, ImportRow)
