"""Rows made from batches of documents: as legs index them, and as the record keeps them, with their checksums."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from operator import lt
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.store.legs.leg import Rows, Table
from sleuth.store.record.layout import DocumentRow, document_checksum

if TYPE_CHECKING:
    from sleuth.store.record.batch import DocumentBatch, Keys

T = TypeVar("T")

_TOGETHER = 96
"""Rows that one statement inserts: each run of a statement gives the interpreter away and waits for it."""


def rows_of(batch: DocumentBatch, keys: Keys) -> Rows:
    """Return the rows of a batch, in order of key."""
    n = len(batch.texts)
    owners = batch.owners().tolist() if batch.counts else range(n)
    texts: dict[str, Sequence[str]] = {"text": batch.texts}
    if batch.titles:
        titles = batch.titles.filled(len(batch.ids))
        texts["title"] = [titles[row] or "" for row in owners]
    for name in sorted({name for fields in batch.fields if fields for name in fields.values}):
        texts[name] = _field(batch, name, "")
    ranks = tie_ranks(batch.ids, batch.chunk_counts())
    return Rows(keys.chunks, ranks, texts, _metadata(batch, owners))


def _field(batch: DocumentBatch, name: str, default: T) -> list[str | T]:
    """Return one of the other searchable texts of each chunk."""
    fields = batch.fields.filled(len(batch.texts))
    return [default if value is None else value.values.get(name, default) for value in fields]


def _metadata(batch: DocumentBatch, owners: Sequence[int]) -> Sequence[Mapping[str, Any]]:
    """Return what `store.record.metadata.shown` makes of each chunk."""
    n, documents = len(batch.texts), len(batch.ids)
    lines, sources = batch.lines.filled(n), batch.sources.filled(documents)
    columns: dict[str, Sequence[Any]] = {
        "source": [sources[row] or batch.ids[row] for row in owners],
        "start_line": [line or None for line in lines],
        "end_line": [
            line + breaks or None for line, breaks in zip(lines, batch.breaks.filled(n), strict=True)
        ],
    }
    if batch.titles:
        titles = batch.titles.filled(documents)
        columns["title"] = [titles[row] for row in owners]
    if batch.pages:
        columns["page"] = batch.pages.filled(n)
    if batch.fields:
        columns["heading"] = _field(batch, "heading", None)
    if not batch.metadata and not batch.own:
        return Table(n, columns)
    metadata, rows = batch.metadata.filled(documents), list[dict[str, Any]]()
    for owner, shared in zip(owners, zip(*columns.values(), strict=True), strict=True):
        values = {key: value for key, value in zip(columns, shared, strict=True) if value is not None}
        if document := metadata[owner]:
            values.update(document.values)
        rows.append(values)
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
