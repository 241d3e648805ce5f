"""The salt of an index: a number in all its checksums, so that rows of another index do not have theirs."""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import suppress

from sleuth.errors import IndexDamagedError

_BITS = 32


def new_salt() -> int:
    """Return the salt of a new index."""
    return secrets.randbits(_BITS)


def write_salt(connection: sqlite3.Connection, salt: int) -> None:
    """Keep a salt, in the open transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('salt', ?)", (str(salt),))


def noted_salt(connection: sqlite3.Connection) -> int:
    """Return the salt that a record says it has; 0 for one of the format without salts.

    Raises:
        IndexDamagedError: it is none that a creation writes.
    """
    row = connection.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    with suppress(TypeError, ValueError):
        salt = int(row[0]) if row else 0
        if 0 <= salt < 1 << _BITS:
            return salt
    raise IndexDamagedError(
        "the salt of the record is not as it was written: `sleuth doctor --repair` restores it"
    )
