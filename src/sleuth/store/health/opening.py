"""Is there an index in this folder, and may this process write into it?"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sleuth.errors import (
    ArgumentError,
    FormatVersionError,
    IndexDamagedError,
    IndexNotFoundError,
    IndexUnsafeError,
    StoreError,
)
from sleuth.store.catalogue import mark
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.segment_files import SUFFIX, sync_folder
from sleuth.store.disk.files import DOCUMENTS, check_parts, make_folder
from sleuth.store.record import layout as record
from sleuth.store.record.codebook import Codebooks
from sleuth.store.record.layout import Connection

RECORD, SEGMENTS, LOCK = DOCUMENTS.record, DOCUMENTS.segments, DOCUMENTS.lock
_CREATION_SECONDS = 10.0
_BUSY_MS = 20
_FREE_SHARE = 0.25


def folder_at(path: str | os.PathLike[str]) -> Path:
    """The folder that a path names, if none of its parts leads out of it.

    Raises:
        ArgumentError: it is no path.
        IndexUnsafeError: a part is a link or belongs to somebody else.
    """
    try:
        folder = Path(path)
        os.fsencode(folder)
    except (TypeError, UnicodeEncodeError):
        folder = Path("\0")
    if "\0" in str(folder):
        raise ArgumentError(f"path must be the path of a folder, as text or a Path, got {path!r}")
    check_parts(folder)
    return folder


def is_whole(folder: Path) -> bool:
    """Whether a record was made here, and made whole.

    Raises:
        IndexDamagedError: the rest of an index without its record, or a record that cannot be read.
        FormatVersionError: another version of the format.
    """
    file = folder / RECORD
    with _readable(folder):
        if not file.exists() or not file.stat().st_size:
            _refuse_remains(folder)
            return False
    with record.translated(folder):
        connection = record.connect(file, Codebooks(), write=os.access(file, os.W_OK))
        try:
            whole = record.check_format(connection, file)
        finally:
            connection.close()
    if not whole:
        _refuse_remains(folder)
    return whole


def is_missing(folder: Path) -> bool:
    """Whether an index is to be made here before it can be opened; on a read-only disk none can be.

    Raises:
        IndexDamagedError, IndexUnsafeError, FormatVersionError: as `is_whole`.
    """
    try:
        return not is_whole(folder)
    except (IndexDamagedError, IndexUnsafeError, FormatVersionError):
        raise
    except record.UNREADABLE:
        if os.access(folder, os.W_OK):
            raise
        return False


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """A folder that this process may not look into as an error of ours."""
    try:
        yield
    except OSError as error:
        mend = "; open it as a user who may read it" if isinstance(error, PermissionError) else ""
        raise StoreError(f"cannot look into {folder}: {error.strerror}{mend}", path=str(folder)) from error


def create(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make an empty index, durably; two processes that do it at once make one."""
    record.to_json(settings, "settings")
    with record.failing_disk(folder):
        make_folder(folder)
        make_folder(folder / SEGMENTS)
    lock = WriterLock(folder / LOCK)
    lock.acquire(_CREATION_SECONDS)
    try:
        with record.translated(folder):
            record.initialise(folder / RECORD, settings)
        for path in (folder, folder.absolute().parent):
            sync_folder(path)
    finally:
        lock.release()


def probe(folder: Path) -> tuple[bool, bool]:
    """Whether this process may write, and whether the record must be read as a file that nobody changes.

    The latter is the way into a folder on a read-only disk, where SQLite cannot make the files by which readers and
    writers take turns. It is refused while there is a log, whose commits would be missed.

    Raises:
        IndexNotFoundError: no index here.
        IndexDamagedError, IndexUnsafeError, FormatVersionError: as `is_whole`.
    """
    file = folder / RECORD
    with _readable(folder):
        there = folder.is_dir() and (file.exists() or _remains(folder))
    if not there:
        raise IndexNotFoundError(f"no index at {folder}: make one with create=True", path=str(folder))
    writable = os.access(folder, os.W_OK) and os.access(file, os.W_OK)
    try:
        whole = is_whole(folder)
    except (IndexDamagedError, IndexUnsafeError, FormatVersionError):
        raise
    except record.UNREADABLE:
        if writable or log_bytes(folder):
            raise
        return False, True
    if not whole:
        raise IndexNotFoundError(
            f"no index at {folder}, only what a broken-off creation left: make it with create=True",
            path=str(folder),
        )
    return writable, False


def lost(noted: int | None, version: int) -> str:
    """What a record that ends at `version` has lost, given the version noted last; empty where nothing.

    Args:
        noted: None where the note itself is damaged.
    """
    if noted is None or noted <= version:
        return ""
    return (
        f"commits up to version {noted} were acknowledged, the record ends at version {version}: "
        "its log was damaged or removed; add the newest documents again"
    )


def log_bytes(folder: Path) -> int:
    """The size of the log: what is committed and not yet copied into the record."""
    try:
        return (folder / f"{RECORD}-wal").stat().st_size
    except OSError:
        return 0


def checkpoint(connection: Connection) -> bool:
    """Copy the log into the record and empty it, so that no deleted text stays in it; whether all of it was.

    Waits for readers a moment only: what can be copied is copied.

    Nothing is lost where it cannot be copied, for readers or for want of space: it is tried again after the next
    commit.
    """
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    try:
        busy, pages, copied = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
            raise
        return False
    else:
        return not busy and pages == copied
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(record.BUSY_SECONDS * 1000)}")


def shrink(connection: Connection) -> None:
    """Give pages that deletions freed back to the disk, where they are many."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if connection.execute("PRAGMA freelist_count").fetchone()[0] > _FREE_SHARE * pages:
        connection.execute("VACUUM")


def _remains(folder: Path) -> str:
    """What there is of an index besides its record."""
    files = len(list((folder / SEGMENTS).glob(f"*{SUFFIX}"))) if (folder / SEGMENTS).is_dir() else 0
    noted = mark.read(folder)
    if not files and not noted:
        return ""
    return (
        f"{files} segment files, which hold no text, and a note of version {'?' if noted is None else noted}"
    )


def _refuse_remains(folder: Path) -> None:
    if remains := _remains(folder):
        raise IndexDamagedError(
            f"the record {folder / RECORD} is missing or empty; what remains: {remains}. "
            "Restore it from a copy, or remove the folder and index the documents again",
            path=str(folder),
        )
