"""A mark beside the record that shows when acknowledged commits were lost, and the salt of an index.

SQLite forgets, without a word, the commits of a log that is damaged or gone. So the newest version is also noted in a
file of its own, after each commit and without a sync: after a power cut it may be older than the record, never newer.

The salt is a number in all checksums, so that rows of another index do not have theirs. The record keeps it, with a
checksum of its own, and the mark keeps it again.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sleuth import platform
from sleuth.errors import IndexDamagedError, IndexUnsafeError
from sleuth.store.disk.files import DOCUMENTS, Names, open_file, opened_file


class Mark(NamedTuple):
    """What is noted beside a record.

    Attributes:
        version: the one that was committed last; None where the mark is damaged.
        salt: of the record, which tells it from that of another index; None where none was noted.
    """

    version: int | None
    salt: int | None = None


def write(folder: Path, version: int, salt: int | None = None, names: Names = DOCUMENTS) -> None:
    """Note that `version` of the record with this salt is committed.

    A mark that cannot be written is an old one: harmless.
    """
    with suppress(OSError, IndexUnsafeError):
        fd = open_file(folder / names.mark, os.O_WRONLY | os.O_CREAT)
        try:
            platform.write_at(fd, _text(version, salt), 0)
        finally:
            os.close(fd)


def written_at(folder: Path) -> float | None:
    """Return when a commit was noted last, in seconds since 1970; None where none was."""
    with suppress(OSError):
        return (folder / DOCUMENTS.mark).stat().st_mtime
    return None


def read(folder: Path, names: Names = DOCUMENTS) -> Mark:
    """Return what was noted last; version 0 where nothing was.

    Call this before the record is read: else a commit between the two would make the mark newer than the record, as if
    commits were lost.
    """
    try:
        with opened_file(folder / names.mark) as fd:
            text = platform.read_at(fd, 64, 0)
    except FileNotFoundError:
        return Mark(0)
    except OSError:
        return Mark(None)
    version, salt = text[:20], text[21:31]
    if version.isdigit():
        if text == _text(int(version), None):
            return Mark(int(version))
        if salt.isdigit() and text == _text(int(version), int(salt)):
            return Mark(int(version), int(salt))
    return Mark(None)


def refuse_other(folder: Path, salt: int | None, note: Mark, names: Names = DOCUMENTS) -> None:
    """Refuse a record that has another salt than the one noted beside it.

    Raises:
        IndexDamagedError: the record is of another index.
    """
    if note.salt is not None and salt is not None and note.salt != salt:
        raise IndexDamagedError(
            f"the record {folder / names.record} is of another index than its file {names.mark}: restore both from one "
            f"copy, or, if the record is the right one, remove the file {names.mark}",
            path=str(folder),
        )


def _text(version: int, salt: int | None) -> bytes:
    """Return a mark: 20 digits of the version, 10 of the salt if there is one, and the CRC-32 of all before it."""
    numbers = b"%020d" % version if salt is None else b"%020d %010d" % (version, salt)
    return b"%s %08x\n" % (numbers, zlib.crc32(numbers))


def write_salt(connection: sqlite3.Connection, salt: int) -> None:
    """Keep a salt in the record, in the open transaction."""
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('salt', ?)", (_salt_text(salt),))


def recorded_salt(connection: sqlite3.Connection) -> int | None:
    """Return the salt that the record keeps; None where it is damaged."""
    row = connection.execute("SELECT value FROM meta WHERE name = 'salt'").fetchone()
    number = str(row[0]).partition(" ")[0] if row else ""
    is_whole = number.isascii() and number.isdigit() and row[0] == _salt_text(int(number))
    return int(number) if is_whole else None


def read_salt(connection: sqlite3.Connection, folder: Path) -> int:
    """Return the salt of the index in a folder.

    Raises:
        IndexDamagedError: both copies are damaged.
    """
    salt = recorded_salt(connection)
    if salt is None:
        salt = read(folder).salt
    if salt is None:
        raise IndexDamagedError(
            f"both copies of the salt of the index in {folder} are damaged, so no row can be proven: restore the "
            "folder from a copy, or remove it and index the documents again",
            path=str(folder),
        )
    return salt


def _salt_text(salt: int) -> str:
    return f"{salt} {zlib.crc32(str(salt).encode()):08x}"
