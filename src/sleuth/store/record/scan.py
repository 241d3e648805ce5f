"""Rows made from batches of documents, with their checksums, and read back from the record in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, repeat
from operator import lt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.legs.leg import RowKeys, Rows, Table
from sleuth.store.passages.blocks import Passages
from sleuth.store.record.batch import DocumentBatch, Keys
from sleuth.store.record.layout import (
    DOCUMENT_COLUMNS,
    Connection,
    DocumentRow,
    damaged_row,
    document_checksum,
    has_checksum,
)

if TYPE_CHECKING:
    from sleuth.store.record.batch import DocumentBatch, Keys

T = TypeVar("T")

_TOGETHER = 96
"""Rows that one statement inserts: each run of a statement gives the interpreter away and waits for it."""

_SPARSE = 8
"""Rows for each value of a key from which on a mapping for each row takes less memory than a column."""


def rows_of(batch: DocumentBatch, keys: Keys) -> Rows:
    """Return the rows of a batch, in order of key."""
    owners = batch.owners().tolist() if batch.counts else range(len(batch.texts))
    texts: dict[str, Sequence[str]] = {"text": batch.texts}
    if batch.titles:
        titles = batch.titles.filled(len(batch.ids))
        texts["title"] = [titles[row] or "" for row in owners]
    for name in sorted({name for fields in batch.fields if fields for name in fields.values}):
        texts[name] = _field(batch, name, "")
    ranks = tie_ranks(batch.ids, batch.chunk_counts())
    return Rows(keys.chunks, ranks, texts, _metadata(batch))


def _field(batch: DocumentBatch, name: str, default: T) -> list[str | T]:
    """Return one of the other searchable texts of each chunk."""
    fields = batch.fields.filled(len(batch.texts))
    return [default if value is None else value.values.get(name, default) for value in fields]


def _metadata(batch: DocumentBatch) -> Sequence[Mapping[str, Any]]:
    """Return what `store.record.metadata.shown` makes of each chunk."""
    n, counts = len(batch.texts), batch.chunk_counts()
    documents = np.flatnonzero(counts).tolist()  # those with chunks
    owners = np.repeat(np.arange(len(documents)), counts[documents]).tolist()
    lines = batch.lines.filled(n)
    sources = [batch.sources.at(row) or batch.ids[row] for row in documents]
    shared: dict[str, Sequence[Any]] = {"source": sources}
    if batch.titles:
        shared["title"] = [batch.titles.at(row) for row in documents]
    columns: dict[str, Sequence[Any]] = {
        "start_line": [line or None for line in lines],
        "end_line": [
            line + breaks or None for line, breaks in zip(lines, batch.breaks.filled(n), strict=True)
        ],
    }
    if batch.pages:
        columns["page"] = batch.pages.filled(n)
    if batch.fields:
        columns["heading"] = _field(batch, "heading", None)
    metadata = [stored.values if (stored := batch.metadata.at(row)) else {} for row in documents]
    keys = dict.fromkeys(chain.from_iterable(metadata))
    is_dense = len(keys) * len(documents) <= _SPARSE * sum(map(len, metadata))
    if is_dense and not batch.own and keys.keys().isdisjoint(columns.keys() | shared.keys()):
        shared |= {key: [values.get(key) for values in metadata] for key in keys}
        return Table(owners, columns, shared)
    rows = Table(owners, columns, shared)[:]
    for owner, values in zip(owners, rows, strict=True):
        values.update(metadata[owner])
    for values, own_values in zip(rows, batch.own, strict=False):
        if own_values:
            values.update(own_values.values)
    return rows


def tie_ranks(ids: Sequence[str], counts: NDArray[np.int64]) -> NDArray[np.uint32] | None:
    """Return the rank of each chunk by (document id, place in the document).

    Args:
        ids: of the documents, in order of key; distinct.
        counts: chunks of each, shape (len(ids),).

    Returns:
        Shape (sum of counts,); None where the documents are in order of id already.
    """
    if all(map(lt, ids, ids[1:])):
        return None
    order = np.array(sorted(range(len(ids)), key=ids.__getitem__), np.int64)
    return spread_ranks(order, counts)


def spread_ranks(order: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return the ranks of chunks, given the order of their documents.

    Args:
        order: shape (documents,): documents by id.
        counts: shape (documents,): chunks of each document.
    """
    starts = np.empty(len(counts), np.int64)  # the rank of each document's first chunk
    starts[order] = np.cumsum(counts[order]) - counts[order]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return (np.repeat(starts, counts) + within).astype(np.uint32)


def documents_of(batch: DocumentBatch, keys: Sequence[int], salt: int) -> list[DocumentRow]:
    """Return the rows of `documents`.

    Args:
        keys: of the documents.
        salt: of the index.
    """
    n = len(keys)
    numbers = keys, batch.counts.filled(n)
    metadata = [value and value.text for value in batch.metadata.filled(n)]
    texts = batch.digests, batch.ids, batch.sources.filled(n), batch.titles.filled(n), metadata
    rows = map(DocumentRow._make, zip(*numbers, repeat(0), *texts, strict=False))
    sums = [document_checksum(row, salt) for row in rows]
    return list(map(DocumentRow._make, zip(*numbers, sums, *texts, strict=True)))


def insert(connection: sqlite3.Connection, rows: Sequence[DocumentRow]) -> None:
    """Add rows, in order of key."""
    marks = f"({', '.join('?' * len(DocumentRow._fields))})"
    for at in range(0, len(rows), _TOGETHER):
        page = rows[at : at + _TOGETHER]
        statement = f"INSERT INTO documents VALUES {', '.join([marks] * len(page))}"
        connection.execute(statement, list(chain.from_iterable(page)))


BATCH_BYTES = 64 << 20
"""Characters of text in a batch of rows, about: bounds the memory of a rebuild and of a long commit."""


def rows_between(
    connection: Connection, passages: Passages, first: int, last: int, batch_bytes: int = BATCH_BYTES
) -> Iterator[Rows]:
    """Yield the rows with keys `first` to `last`, inclusive, as legs are given them; whole documents, by key."""
    for batch, keys in batches_between(connection, passages, first, last, batch_bytes):
        if len(keys.chunks):
            yield rows_of(batch, keys)


def batches_between(
    connection: Connection, passages: Passages, first: int, last: int, batch_bytes: int = BATCH_BYTES
) -> Iterator[tuple[DocumentBatch, Keys]]:
    """Yield the documents with keys in a range, compared with their checksums.

    Raises:
        IndexDamagedError: one has lost a chunk, or is not as it was written; names it.
    """
    query = f"SELECT {DOCUMENT_COLUMNS} FROM documents WHERE key BETWEEN ? AND ? ORDER BY key"
    batch, keys = DocumentBatch(), list[int]()
    with closing(connection.execute(query, (first, last))) as rows:  # left open, it would hold its version
        for document in map(DocumentRow._make, rows):
            if not has_checksum(document_checksum, document, connection.salt):
                raise damaged_row(document.id)
            try:
                chunks = passages.stored(list(range(document.key, document.key + document.chunks)))
            except LookupError:
                raise damaged_row(document.id) from None
            batch.add_stored(document, chunks)
            keys.append(document.key)
            if batch.characters >= batch_bytes:
                yield batch, Keys.of(np.array(keys, np.int64), batch.chunk_counts())
                batch, keys = DocumentBatch(), []
    if keys:
        yield batch, Keys.of(np.array(keys, np.int64), batch.chunk_counts())


def ranks_of(connection: sqlite3.Connection, keys: RowKeys) -> NDArray[np.uint32] | None:
    """Tie ranks of rows that the record holds.

    Args:
        keys: of whole documents, all of those between the first and the last.

    Returns:
        Shape (n,); None where they are in order of id.
    """
    if not len(keys):
        return None
    query = "SELECT key, chunks FROM documents WHERE key BETWEEN ? AND ? AND chunks ORDER BY id"
    firsts, counts = pairs(connection.execute(query, (int(keys[0]), int(keys[-1])))).T
    by_key = np.argsort(firsts)
    firsts, counts = firsts[by_key], counts[by_key]
    places = np.cumsum(counts) - counts
    if counts.sum() != len(keys) or not np.array_equal(np.asarray(keys)[places], firsts):
        raise IndexDamagedError("the record holds other documents than segments do")
    return None if np.all(by_key[1:] > by_key[:-1]) else spread_ranks(np.argsort(by_key), counts)


def pairs(cursor: sqlite3.Cursor) -> NDArray[np.int64]:
    """Return the result of a query of two integers, without an object for each row at once; shape (n, 2)."""
    return np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, 2)
