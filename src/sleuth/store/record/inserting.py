"""Documents of a batch as rows of the record, with their checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING

from sleuth.store.record.layout import DocumentRow, document_checksum

if TYPE_CHECKING:
    from sleuth.store.record.batch import DocumentBatch

_TOGETHER = 96
"""Rows that one statement inserts: each run of a statement gives the interpreter away and waits for it."""


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
