"""Reads rows back from the record in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.legs.leg import RowKeys, Rows
from sleuth.store.passages.blocks import Passages
from sleuth.store.record.batch import DocumentBatch, Keys
from sleuth.store.record.layout import (
    CACHE,
    DOCUMENT_COLUMNS,
    Connection,
    DocumentRow,
    damaged_row,
    document_checksum,
    has_checksum,
)
from sleuth.store.record.rows import rows_of, spread_ranks

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
    with read_once(connection):
        firsts, counts = pairs(connection.execute(query, (int(keys[0]), int(keys[-1])))).T
    by_key = np.argsort(firsts)
    firsts, counts = firsts[by_key], counts[by_key]
    places = np.cumsum(counts) - counts
    if counts.sum() != len(keys) or not np.array_equal(np.asarray(keys)[places], firsts):
        raise IndexDamagedError("the record holds other documents than segments do")
    return None if np.all(by_key[1:] > by_key[:-1]) else spread_ranks(np.argsort(by_key), counts)


@contextmanager
def read_once(connection: sqlite3.Connection) -> Iterator[None]:
    """Keep few pages of the database in memory, since the block reads each once."""
    connection.execute("PRAGMA cache_size = -2048")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):  # the connection was closed before its reader was
            connection.execute(f"PRAGMA cache_size = -{CACHE}")


def pairs(cursor: sqlite3.Cursor) -> NDArray[np.int64]:
    """Return the result of a query of two integers, without an object for each row at once; shape (n, 2)."""
    return np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, 2)
