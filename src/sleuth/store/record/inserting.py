"""Batches of documents as rows of the record, with their checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.store.record.layout import DocumentRow, document_checksum

if TYPE_CHECKING:
    from sleuth.store.record.batch import DocumentBatch

_TOGETHER = 96
"""Rows that one statement inserts: each run of a statement gives the interpreter away and waits for it."""


class TableRows(NamedTuple):
    """Rows to be inserted, column by column.

    Attributes:
        into: the table, and which of its columns.
        marks: the values of a row in SQL.
        columns: the values for the marks, each of length n.
    """

    into: str
    marks: str
    columns: Sequence[Sequence[Any]]


def documents_of(batch: DocumentBatch, keys: Sequence[int], salt: int) -> TableRows:
    """Return the rows of `documents`. A column that nobody filled is a constant in the statement: it binds no values.

    Args:
        keys: of the documents.
        salt: of the index.
    """
    n = len(keys)
    optional: dict[str, tuple[Sequence[Any], int | None]] = {
        "chunks": (batch.counts, 1),
        "size": (batch.sizes, 0),
        "modified_ns": (batch.modified, None),
        "source": (batch.sources, None),
        "title": (batch.titles, None),
        "metadata": ([value and value.text for value in batch.metadata], None),
    }
    filled = {name: [*values, *[default] * (n - len(values))] for name, (values, default) in optional.items()}
    rows = zip(keys, filled["chunks"], filled["size"], filled["modified_ns"], repeat(0), batch.digests, batch.ids,
               filled["source"], filled["title"], filled["metadata"], strict=False)  # fmt: skip
    sums = [document_checksum(DocumentRow._make(row), salt) for row in rows]
    names, marks = ["key", "checksum", "content_hash", "id"], ["?"] * 4
    bound: list[Sequence[Any]] = [keys, sums, batch.digests, batch.ids]
    for name, (values, default) in optional.items():
        names.append(name)
        marks.append("?" if values else "NULL" if default is None else str(default))
        if values:
            bound.append(filled[name])
    return TableRows(f"documents({', '.join(names)})", f"({', '.join(marks)})", bound)


def insert(connection: sqlite3.Connection, table: TableRows) -> None:
    """Add rows, in order of key."""
    columns = table.columns
    width, n = len(columns), len(columns[0])
    full_rows = n - n % _TOGETHER
    many = f"INSERT INTO {table.into} VALUES {', '.join([table.marks] * _TOGETHER)}"
    bound: list[Any] = [None] * (width * _TOGETHER)
    for at in range(0, full_rows, _TOGETHER):
        for place, column in enumerate(columns):
            bound[place::width] = column[at : at + _TOGETHER]
        connection.execute(many, bound)
    remaining_columns = [column[full_rows:] for column in columns]
    connection.executemany(
        f"INSERT INTO {table.into} VALUES {table.marks}", zip(*remaining_columns, strict=True)
    )
