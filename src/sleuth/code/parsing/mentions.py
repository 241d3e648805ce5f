"""Decides which plain names of a file are uses of a definition, and which are variables; reads types in quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sleuth.code.parsing.kinds import BINDINGS, CONTAINERS, PARSED_ROLES, ROLES
from sleuth.code.parsing.tables import BindingRow, ReferenceRow, Table

if TYPE_CHECKING:
    from sleuth.code.parsing.definitions import ParsedDefinition

_REFERENCE: Final = ROLES.index("reference")
_QUOTED: Final = PARSED_ROLES.index("quoted")
_STARTS: Final = ReferenceRow._fields.index("name")
_BOUND: Final = [BindingRow._fields.index(field) for field in ("name", "name_size", "kind", "symbol")]
_OUTER: Final = BINDINGS.index("outer")
_KIND: Final = BindingRow._fields.index("kind")
_USES: Final = [BINDINGS.index(kind) for kind in ("narrowed", "item", "keyed")]
"""Bindings of a name that is used at the same place."""
_MENTION: Final = PARSED_ROLES.index("mention")
_NAME: Final = rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*"
_WORD: Final = re.compile(_NAME)
_DOTTED: Final = re.compile(rb"((?:%b\.)*)(%b)" % (_NAME, _NAME))
_OF_ALL: Final = re.compile(rb"\bimport\s*\*")


def split_quoted(source: bytes, uses: Table) -> Table:
    """Return uses with the names of types in quotes in the place of the text between the quotes.

    Args:
        uses: as `uses.read_uses` returns them, shape (n, 5): start and end of the name, its role, start and end of the
            qualifier.
    """
    quoted = uses[:, 2] == _QUOTED
    if not quoted.any():
        return uses
    rows = []
    for start, end in uses[quoted, :2].tolist():
        for match in _DOTTED.finditer(source, start, end):
            qualifier = (match.start(1), match.end(1) - 1) if match[1] else (0, 0)
            rows.append((*match.span(2), _REFERENCE, *qualifier))
    table = np.concatenate([uses[~quoted], np.array(rows, np.int32).reshape(-1, 5)])
    return table[np.argsort(table[:, 0], kind="stable")]


def keep_meant(
    source: bytes, references: Table, bindings: Table, definitions: Sequence[ParsedDefinition], imports: Table
) -> Table:
    """Return references, and of the mentions those that mean an import or a definition of the file.

    A name means what the innermost scope around it binds or defines, else what is imported anywhere in the file.

    Args:
        references: rows of `ReferenceRow`, whose role is a position in `PARSED_ROLES`.
        bindings: rows of `BindingRow`; their names are no mentions.
        definitions: in order of start, containers first.
        imports: rows of `ImportRow`.
    """
    roles = references[:, ReferenceRow._fields.index("role")]
    if not (roles >= len(ROLES)).any():
        return references
    statements = [source[start:end] for start, end in imports[:, 1:3].tolist()]
    imported = {word for statement in statements for word in _WORD.findall(statement)}
    everything = any(_OF_ALL.search(statement) for statement in statements)
    bindings = bindings[~np.isin(bindings[:, _KIND], _USES)]
    defined = {(source[d.name.start : d.name.end], d.parent) for d in definitions}
    possible = imported | {name for name, _ in defined}
    names = [source[start : start + size] for start, size in references[:, 1:3].tolist()]
    scopes = references[:, ReferenceRow._fields.index("symbol")].tolist()
    bound: set[tuple[bytes, int]] = set()
    outer: set[tuple[bytes, int]] = set()
    for start, size, kind, symbol in bindings[:, _BOUND].tolist():
        if symbol < 0 or definitions[symbol].name.start != start:
            (outer if kind == _OUTER else bound).add((source[start : start + size], symbol))
    bound -= outer

    def is_meant(name: bytes, scope: int) -> bool:
        at, in_function = scope, False
        while at >= 0:
            kind = definitions[at].kind
            if (name, at) in bound and kind not in CONTAINERS:
                return False
            if (name, at) in defined and not (kind in CONTAINERS and in_function):
                return True
            in_function = in_function or kind in ("function", "method")
            at = definitions[at].parent
        return (name, -1) in defined or name in imported or everything

    is_use = roles < len(ROLES)
    starts = set(bindings[:, BindingRow._fields.index("name")].tolist())
    for at in np.flatnonzero(roles == _MENTION).tolist():
        if (everything or names[at] in possible) and int(references[at, _STARTS]) not in starts:
            is_use[at] = is_meant(names[at], scopes[at])
    references[roles == _MENTION, ReferenceRow._fields.index("role")] = _REFERENCE
    return references[is_use]
