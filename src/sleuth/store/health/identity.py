"""Tells from its rows which salt a record was written with, and whether it belongs to its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.record import layout as record
from sleuth.store.record.layout import SIGN, Connection, DocumentRow, StoredChunk
from sleuth.store.record.salt import noted_salt

_AGREEING = 2
"""Rows that must say the same: one that is damaged says anything."""


def written_salt(rows: Connection, books: Connection) -> int | None:
    """Return the salt that rows were written with: the noted one where some agree or none do, else that of most.

    Args:
        rows: holds the tables of a record, proven or not.
        books: holds its codebooks.

    Returns:
        None where neither rows nor the note tell.
    """
    try:
        noted = noted_salt(rows)
    except IndexDamagedError:
        noted = None
    votes = Counter[int]()
    for vote in _votes(rows, books):
        votes[vote] += 1
        if vote == noted and votes[vote] >= _AGREEING:
            return noted
    (salt, count), *_ = votes.most_common(1) or [(0, 0)]
    return salt if count >= _AGREEING else noted


def _votes(rows: Connection, books: Connection) -> Iterator[int]:
    """Yield the salt that each row would have."""
    for document in map(DocumentRow._make, rows.execute(f"SELECT {record.DOCUMENT_COLUMNS} FROM documents")):
        yield from _vote(record.document_checksum, document)
    for stored in rows.execute(f"SELECT {record.CHUNK_COLUMNS} FROM chunks"):
        try:
            yield from _vote(record.chunk_checksum, record.plain(books, stored))
        except IndexDamagedError:
            continue


def _vote(checksum: Callable[[Any, int], int], row: DocumentRow | StoredChunk) -> Iterator[int]:
    try:
        yield (checksum(row, 0) + SIGN) ^ (row.checksum + SIGN)
    except (AttributeError, OverflowError, TypeError, ValueError):  # a value of another type than was written
        return


def agrees(connection: Connection, folder: Path, noted: int) -> bool:
    """Return whether a record has the salt that is noted beside it; where not, it is read with that of its rows.

    Raises:
        IndexDamagedError: the record is of another index.
    """
    with suppress(IndexDamagedError):
        if connection.salt == noted:
            return True
    salt = written_salt(connection, connection)
    files = {f"{entry.name}{SUFFIX}" for entry in manifest.entries(connection) if not entry.inline}
    # Either what the record itself says is damaged, or the note is of another index, which its segments tell.
    if salt is None or (
        salt != noted and not (files and all((folder / "segments" / name).exists() for name in files))
    ):
        raise IndexDamagedError(
            f"the record in {folder} is of another index than its file version: restore both from one copy, or, if the "
            "record is the right one, remove the file version",
            path=str(folder),
        )
    connection.books.salt = salt
    return False
