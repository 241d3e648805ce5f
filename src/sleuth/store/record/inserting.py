"""Batches of documents as rows of the record, with their checksums."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.store.record.checksums import row_checksum

if TYPE_CHECKING:
    from sleuth.store.record.batch import BatchColumn, DocumentBatch, Keys
    from sleuth.store.record.metadata import Json

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


def tables_of(batch: DocumentBatch, keys: Keys, salt: int) -> tuple[TableRows, TableRows]:
    """Return the rows of `documents` and of `chunks`.

    Args:
        salt: of the index.
    """
    documents, chunks = len(batch.ids), len(batch.texts)
    document_keys, chunk_keys, places = keys.documents.tolist(), keys.chunks.tolist(), keys.places.tolist()
    metadata, fields, own_texts = _texts(batch.metadata), _texts(batch.fields), _texts(batch.own)
    n = len(chunk_keys)
    columns = (
        chunk_keys,
        places,
        batch.pages.filled(n),
        batch.starts.filled(n),
        batch.lines.filled(n),
        batch.breaks.filled(n),
        [*fields, *[None] * (n - len(fields))],
        [*own_texts, *[None] * (n - len(own_texts))],
        batch.texts,
    )
    return (
        _table(
            "documents",
            {
                "key": document_keys,
                "checksum": _document_sums(batch, document_keys, metadata, salt),
                "content_hash": batch.digests,
                "id": batch.ids,
            },
            {
                "chunks": (batch.counts, 1),
                "size": (batch.sizes, 0),
                "modified_ns": (batch.modified, None),
                "source": (batch.sources, None),
                "title": (batch.titles, None),
                "metadata": (metadata, None),
            },
            documents,
        ),
        _table(
            "chunks",
            {
                "key": chunk_keys,
                "checksum": [row_checksum(row, 6, 6, salt) for row in zip(*columns, strict=True)],
                "text": batch.texts,
            },
            {
                "n": (places if batch.counts else [], 0),
                "page": (batch.pages, None),
                "start": (batch.starts, 0),
                "line": (batch.lines, 1),
                "lines": (batch.breaks, 0),
                "fields": (fields, None),
                "metadata": (own_texts, None),
            },
            chunks,
        ),
    )


def _texts(column: BatchColumn[Json | None]) -> list[str | None]:
    return [value and value.text for value in column]


def _table(
    name: str,
    columns: dict[str, Sequence[Any]],
    optional: dict[str, tuple[Sequence[Any], int | None]],
    rows: int,
) -> TableRows:
    """Rows of a table. An optional column that nobody filled is a constant in the statement: it binds no values."""
    names, marks, bound = list(columns), ["?"] * len(columns), list(columns.values())
    for column, (values, default) in optional.items():
        names.append(column)
        marks.append("?" if values else "NULL" if default is None else str(default))
        if values:
            bound.append([*values, *[default] * (rows - len(values))])
    return TableRows(f"{name}({', '.join(names)})", f"({', '.join(marks)})", bound)


def _document_sums(
    batch: DocumentBatch, keys: Sequence[int], metadata: Sequence[str | None], salt: int
) -> list[int]:
    """`layout.document_checksum` of each document."""
    n = len(keys)
    columns = (
        keys,
        batch.counts.filled(n),
        batch.sizes.filled(n),
        batch.modified.filled(n),
        batch.ids,
        batch.sources.filled(n),
        batch.titles.filled(n),
        [*metadata, *[None] * (n - len(metadata))],
    )
    rows = zip(batch.digests, zip(*columns, strict=True), strict=True)
    # Four numbers, then texts: the digest comes before the row, and the columns between are not in it.
    return [row_checksum(row, 4, 4, salt, zlib.crc32(digest)) for digest, row in rows]


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
