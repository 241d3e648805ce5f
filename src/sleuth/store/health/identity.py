"""Tells with which salt the rows of a record were written, and whether the record belongs to its folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import manifest
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.record import layout as record
from sleuth.store.record.layout import Connection, DocumentRow, has_checksum
from sleuth.store.record.salt import noted_salt


def proven_salt(connection: Connection, noted: int | None) -> int | None:
    """Return the salt with which a document has its checksum: that of the record, or the one noted beside it.

    Returns:
        For a record without documents its own salt. None where no document has its checksum with either.
    """
    salts = []
    with suppress(IndexDamagedError):
        salts.append(noted_salt(connection))
    if noted is not None and noted not in salts:
        salts.append(noted)
    rows = connection.execute(f"SELECT {record.DOCUMENT_COLUMNS} FROM documents")
    is_empty = True
    for document in map(DocumentRow._make, rows):
        is_empty = False
        for salt in salts:
            if has_checksum(record.document_checksum, document, salt):
                return salt
    return salts[0] if is_empty and salts else None


def agrees(connection: Connection, folder: Path, noted: int) -> bool:
    """Return whether a record has the salt that is noted beside it; where not, it is read with that of its rows.

    Raises:
        IndexDamagedError: the record is of another index.
    """
    with suppress(IndexDamagedError):
        if connection.salt == noted:
            return True
    salt = proven_salt(connection, noted)
    files = {f"{entry.name}{SUFFIX}" for entry in manifest.entries(connection) if not entry.inline}
    # Either the salt of the record is damaged, or the note is of another index, which the segments of the record show.
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
