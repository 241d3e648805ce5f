"""The tables that are kept of a parsed file, their packed form, and what they can say of a text."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.kinds import BINDINGS, CHUNK_KINDS, KINDS, ROLES
from sleuth.errors import CodeError

_MOST_BYTES: Final = 1 << 28
"""Unpacked tables of one file take less: a file has at most 2 MB."""
Table: TypeAlias = NDArray[np.int32]
"""Rows of one of the types below: shape (n, number of their fields), a column per field."""


class DefinitionRow(NamedTuple):
    """A definition. Places are bytes; all but `start` and `end` are relative to `start`.

    Attributes:
        kind: position in `KINDS`.
        start, end: of the definition with what belongs to it, such as decorators and `export`.
        head: where the definition itself begins.
        name, name_size: its name, as written.
        first: the line where the comment before it begins.
        line, last: the lines of its name and of its end.
        parent: row of its container, or -1.
        body: where its body begins, or -1.
        doc, doc_size: the string that documents it, or size 0.
        scope, scope_size: what its name belongs to, such as a receiver, or size 0.
    """

    kind: int
    start: int
    end: int
    head: int
    name: int
    name_size: int
    first: int
    line: int
    last: int
    parent: int
    body: int
    doc: int
    doc_size: int
    scope: int
    scope_size: int


class ReferenceRow(NamedTuple):
    """A used name.

    Attributes:
        line: of its name.
        name, name_size: its bytes.
        qualifier, qualifier_size: what it belongs to, such as `self`, or size 0; `qualifier` counts back from `name`.
        role: position in `ROLES`.
        symbol: row of its enclosing definition, -1 at the file's top.
    """

    line: int
    name: int
    name_size: int
    qualifier: int
    qualifier_size: int
    role: int
    symbol: int


class BindingRow(NamedTuple):
    """A name that gets a value.

    Attributes:
        name, name_size: its bytes.
        type, type_size: its declared type, or size 0; `type` counts from `name`.
        value, value_size: what it is assigned, likewise.
        kind: position in `BINDINGS`.
        symbol: row of the definition around it, or of the definition that has this name; -1 at the file's top.
    """

    name: int
    name_size: int
    type: int
    type_size: int
    value: int
    value_size: int
    kind: int
    symbol: int


class ImportRow(NamedTuple):
    """An import statement, from byte `start` to `end`, inside the definition of row `symbol` or -1."""

    line: int
    start: int
    end: int
    symbol: int


class ChunkRow(NamedTuple):
    """Lines `start` to `end` of a chunk, its definition or -1, and its kind's position in `CHUNK_KINDS`."""

    start: int
    end: int
    symbol: int
    kind: int


class Tables(NamedTuple):
    """What parsing found in a file; each shape (n, fields of its row).

    Attributes:
        sound: False where the syntax tree holds errors.
    """

    definitions: Table
    references: Table
    bindings: Table
    imports: Table
    chunks: Table
    sound: bool = True


ROWS: tuple[type[Any], ...] = (DefinitionRow, ReferenceRow, BindingRow, ImportRow, ChunkRow)


def table_of(rows: Sequence[Any], kind: type[Any]) -> Table:
    """Return rows of one kind as a table."""
    return np.array(rows, np.int32).reshape(-1, len(kind._fields))


def empty_tables() -> Tables:
    """Return the tables of a file in which nothing was found."""
    a, b, c, d, e = (table_of([], kind) for kind in ROWS)
    return Tables(a, b, c, d, e)


def pack_tables(tables: Tables, language: int) -> bytes:
    """Return tables as bytes: each column as differences from row to row, compressed together.

    Args:
        language: a number that `unpack_tables` gives back.
    """
    parts = [np.array([tables.sound, language, *map(len, tables[:5])], np.int32)]
    for table in tables[:5]:
        columns = table.T.copy()
        columns[:, 1:] -= table.T[:, :-1]
        parts.append(columns.ravel())
    return zlib.compress(np.concatenate(parts).astype("<i4", copy=False).tobytes(), 1)


def unpack_tables(packed: bytes) -> tuple[Tables, int]:
    """Return what `pack_tables` was given.

    Raises:
        CodeError: the bytes are damaged.
    """
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(packed, _MOST_BYTES)
        numbers = np.frombuffer(content, "<i4").astype(np.int32, copy=False)
        sound, language, *lengths = numbers[: 2 + len(ROWS)].tolist()
        sizes = [length * len(row._fields) for length, row in zip(lengths, ROWS, strict=True)]
    except (ValueError, zlib.error) as error:
        raise damaged_facts(str(error)) from error
    if not unpacking.eof:
        raise damaged_facts("they are cut off, or too many")
    head, *parts, surplus = np.split(numbers, np.cumsum([2 + len(ROWS), *sizes]))
    if min(lengths) < 0 or len(head) + sum(sizes) != len(numbers) or len(surplus):
        raise damaged_facts("there are more or fewer numbers than rows")
    a, b, c, d, e = (
        np.cumsum(part.reshape(len(row._fields), -1 if len(part) else 0), axis=1, dtype=np.int32).T
        for part, row in zip(parts, ROWS, strict=True)
    )
    return Tables(a, b, c, d, e, bool(sound)), language


def damaged_facts(why: str) -> CodeError:
    """Return the error for tables that are not as they were written."""
    return CodeError(
        f"the facts of a file are damaged ({why}); remove code.db and the folder code beside it, and index again"
    )


def validate_tables(tables: Tables, source: bytes) -> None:
    """Refuse tables that parsing a text cannot have given, before anything is looked up by them.

    An index can come from anybody, with checksums that fit. What these tables say leads to rows of other tables, to
    places in lists of names, and to loops over lines.

    Args:
        source: the text, UTF-8.

    Raises:
        ValueError: says what is wrong.
    """
    lines = source.count(b"\n") + 1
    place, symbol, line = (0, len(source)), (-1, len(tables.definitions) - 1), (0, lines)
    around = (-len(source), len(source))
    _check(tables.definitions, DefinitionRow, place, {
        "kind": (0, len(KINDS) - 1), "first": line, "line": line, "last": line, "parent": symbol,
        "body": (-1, len(source)),
    })  # fmt: skip
    _check(tables.references, ReferenceRow, place, {
        "line": line, "qualifier": around, "role": (0, len(ROLES) - 1), "symbol": symbol,
    })  # fmt: skip
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
