"""Checks that the tables of a parsed file can be those of its text, before anything is looked up by them.

An index can come from anybody, with checksums that fit. What these tables say leads to rows of other tables, to places
in lists of names, and to loops over lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sleuth.code.parsing.chunks import CHUNK_KINDS
from sleuth.code.parsing.kinds import BINDINGS, KINDS, ROLES
from sleuth.code.parsing.tables import (
    BindingRow,
    ChunkRow,
    DefinitionRow,
    ImportRow,
    ReferenceRow,
    Table,
    Tables,
)


def validate_tables(tables: Tables, source: bytes) -> None:
    """Refuse tables that parsing a text cannot have given.

    Args:
        source: the text, UTF-8.

    Raises:
        ValueError: says what is wrong.
    """
    lines = source.count(b"\n") + 1
    place, symbol, line = (0, len(source)), (-1, len(tables.definitions) - 1), (0, lines)
    _check(tables.definitions, DefinitionRow, place, {
        "kind": (0, len(KINDS) - 1), "first": line, "line": line, "last": line, "parent": symbol,
        "body": (-1, len(source)),
    })  # fmt: skip
    _check(tables.references, ReferenceRow, place, {
        "line": line, "role": (0, len(ROLES) - 1), "symbol": symbol,
    })  # fmt: skip
    around = (-len(source), len(source))
    _check(tables.bindings, BindingRow, place, {
        "type": around, "value": around, "kind": (0, len(BINDINGS) - 1), "symbol": symbol,
    })  # fmt: skip
    _check(tables.imports, ImportRow, place, {"line": line, "symbol": symbol})
    _check(tables.chunks, ChunkRow, (1, lines), {"symbol": symbol, "kind": (0, len(CHUNK_KINDS) - 1)})
    parents = tables.definitions[:, DefinitionRow._fields.index("parent")]
    if np.any(parents >= np.arange(len(parents))):
        raise ValueError("a definition must stand behind its container")


def _check(
    table: Table, kind: type[Any], usual: tuple[int, int], special: Mapping[str, tuple[int, int]]
) -> None:
    """Check that each column of a table is within its bounds, by default `usual`."""
    if not len(table):
        return
    columns = zip(kind._fields, table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True)
    for name, minimum, maximum in columns:
        low, high = special.get(name, usual)
        if minimum < low or maximum > high:
            raise ValueError(f"{name!r} of a {kind.__name__} must be from {low} to {high}")
