"""The salt of an index: a number in all its checksums, so that rows of another index do not have theirs.

The record keeps it, with a checksum of its own, and the file `version` keeps it again.
"""

from __future__ import annotations

import secrets
import sqlite3
import zlib
from pathlib import Path

from sleuth.errors import IndexDamagedError
from sleuth.store.record import mark

_BITS = 32


def new_salt() -> int:
    """Return the salt of a new index."""
    return secrets.randbits(_BITS)


def write_salt(connection: sqlite3.Connection, salt: int) -> None:
    """Keep a salt in the record, in the open transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('salt', ?)", (_text(salt),))


def recorded_salt(connection: sqlite3.Connection) -> int | None:
    """Return the salt that the record keeps; None where it is damaged."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    number = str(row[0]).partition(" ")[0] if row else ""
    is_whole = number.isascii() and number.isdigit() and row[0] == _text(int(number))
    return int(number) if is_whole else None


def read_salt(connection: sqlite3.Connection, folder: Path) -> int:
    """Return the salt of the index in a folder.

    Raises:
        IndexDamagedError: both copies are damaged.
    """
    salt = recorded_salt(connection)
    if salt is None:
        salt = mark.read(folder).salt
    if salt is None:
        raise IndexDamagedError(
            f"both copies of the salt of the index in {folder} are damaged, so no row can be proven: restore the "
            "folder from a copy, or remove it and index the documents again",
            path=str(folder),
        )
    return salt


def _text(salt: int) -> str:
    return f"{salt} {zlib.crc32(str(salt).encode()):08x}"
