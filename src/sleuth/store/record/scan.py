"""Reads rows back from the record in batches."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store.disk.scratch import zeros
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
from sleuth.store.record.rows import rows_of

BATCH_BYTES = 64 << 20
"""Characters of text in a batch of rows, about: bounds the memory of a rebuild and of a long commit."""
IDS = "sqlite_autoindex_documents_1"
_MANY_OF = 8
"""Where this share of all rows is asked for, going through the whole index of ids costs less than sorting them."""
_PAGE = 1 << 18
"""Keys that are read at once, at most: some 2 MB of text."""
_SPREAD = 1 << 14
"""Documents whose chunks are ranked at a time."""
_NO_RANK = 0xFFFFFFFF
"""Stands for the rank of a chunk that has none yet."""


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
    ranks = zeros(len(keys), np.uint32)
    ranks[:] = _NO_RANK  # by first chunk the place of a document in order of id
    documents, key_before, in_order = 0, -1, True
    ends_of_empty: set[int] = set()  # where documents without chunks stand
    for page in _documents_by_id(connection, int(keys[0]), int(keys[-1])):
        in_order = in_order and bool(page[0] > key_before and np.all(page[1:] > page[:-1]))
        key_before = int(page[-1])
        if isinstance(keys, range):  # each key is that of a chunk
            places = page - keys.start
        else:
            places = np.searchsorted(keys, page)
            has_chunks = keys[np.minimum(places, len(keys) - 1)] == page
            ends_of_empty.update(places[~has_chunks].tolist())
            places = places[has_chunks]
        ranks[places] = np.arange(documents, documents + len(places), dtype=np.uint32)
        documents += len(places)
    if ranks[0] == _NO_RANK or any(ranks[end] == _NO_RANK for end in ends_of_empty - {len(keys)}):
        raise IndexDamagedError("the record holds other documents than segments do")
    if in_order:
        return None
    if documents < len(keys):
        _spread(ranks, documents)
    return ranks


def _spread(ranks: NDArray[np.uint32], documents: int) -> None:
    """Give all chunks their ranks, in place; so far the first chunk of each document has the document's."""
    starts = np.flatnonzero(ranks != _NO_RANK).astype(np.uint32)
    counts = np.diff(starts, append=np.uint32(len(ranks)))
    firsts = np.empty(documents + 1, np.uint32)  # by document in order of id, the rank of its first chunk
    firsts[0] = 0
    firsts[1 + ranks[starts]] = counts
    np.cumsum(firsts, out=firsts)
    for first in range(0, documents, _SPREAD):
        end_row = min(first + _SPREAD, documents) - 1
        span, begin, end = (
            slice(first, end_row + 1),
            int(starts[first]),
            int(starts[end_row] + counts[end_row]),
        )
        shifts = firsts[ranks[starts[span]]] - starts[span]  # modulo 2^32, as is the sum
        ranks[begin:end] = np.arange(begin, end, dtype=np.uint32) + np.repeat(shifts, counts[span])


def _documents_by_id(connection: sqlite3.Connection, first: int, last: int) -> Iterator[NDArray[np.int64]]:
    """Yield keys of the documents with keys in a range, in order of id: off the index of ids where they are many."""
    total = connection.execute("SELECT chunks FROM state").fetchone()[0]
    how = f"INDEXED BY {IDS}" if last - first >= total // _MANY_OF else "NOT INDEXED"
    gathered = (
        "SELECT group_concat(key), max(id) FROM "
        f"(SELECT key, id FROM documents {how} WHERE id >= ? AND key BETWEEN ? AND ? ORDER BY id LIMIT ?)"
    )
    least_id = ""
    with read_once(connection):
        while True:
            # A row that is stepped to costs three times what it costs in a list, and gives the interpreter's lock away.
            keys, greatest = connection.execute(gathered, (least_id, first, last, _PAGE)).fetchone()
            page = np.fromstring(keys, np.int64, sep=",") if keys else np.zeros(0, np.int64)
            if len(page):
                yield page
            if len(page) < _PAGE:
                return
            least_id = f"{greatest}\0"


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
