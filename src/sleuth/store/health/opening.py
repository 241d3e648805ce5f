"""Checks whether there is an index in a folder, and whether this process may write into it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sleuth.errors import (
    FormatVersionError,
    IndexDamagedError,
    IndexNotFoundError,
    IndexUnsafeError,
)
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.schema import Access, Schema
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.disk.files import DOCUMENTS
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection
from sleuth.store.record.mark import new_salt, write_salt

RECORD, SEGMENTS, LOCK = DOCUMENTS.record, DOCUMENTS.segments, DOCUMENTS.lock
_FREE_SHARE = 0.25
"""Of the pages: with more free ones, writing the database anew gives room back that is worth the copy."""


DOCUMENTS_SCHEMA = Schema(
    DOCUMENTS,
    record.FORMAT,
    record.SCHEMA,
    "`sleuth index --rebuild --index {}` makes it again with its texts, or open it with the version that made it",
)


def is_whole(folder: Path) -> bool:
    """Return whether a record was made here, and made whole.

    Raises:
        IndexDamagedError: the rest of an index without its record, or a record that cannot be read.
        FormatVersionError: another version of the format.
    """
    has_record = schema.is_whole(folder, DOCUMENTS_SCHEMA)
    if not has_record:
        with schema.readable(folder):
            if remains := _remains(folder):
                raise IndexDamagedError(
                    f"the record {folder / RECORD} is missing or empty; what remains: {remains}. "
                    "Restore it from a copy, or remove the folder and index the documents again",
                    path=str(folder),
                )
    return has_record


def is_missing(folder: Path) -> bool:
    """Return whether an index must be created here before it can be opened; impossible on a read-only disk.

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


def create(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make an empty index, durably; two processes that do it at once make one."""
    schema.create(folder, DOCUMENTS_SCHEMA, filled_with(settings))


def filled_with(settings: Mapping[str, Any]) -> Callable[[sqlite3.Connection], object]:
    """Return what inserts the first rows of a record that is made with these settings."""
    text = record.to_json(settings, "settings") or "{}"

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('settings', ?)", (text,))
        write_salt(connection, new_salt())

    return fill


def probe(folder: Path) -> Access:
    """Return what this process may do with the index of a folder.

    Raises:
        IndexNotFoundError: no index here.
        IndexDamagedError, IndexUnsafeError, FormatVersionError: as `is_whole`.
    """
    with schema.readable(folder):
        is_index = folder.is_dir() and ((folder / RECORD).exists() or _remains(folder))
    if not is_index:
        raise IndexNotFoundError(f"no index at {folder}: make one with create=True", path=str(folder))
    access = schema.probe(folder, DOCUMENTS_SCHEMA, lambda: is_whole(folder))
    if not access.whole:
        raise IndexNotFoundError(
            f"no index at {folder}, only what a broken-off creation left: make it with create=True",
            path=str(folder),
        )
    return access


def lost(version_of_note: int | None, version: int) -> str:
    """Return what a record that ends at `version` has lost, given the version noted last; empty where nothing.

    Args:
        version_of_note: None where the note itself is damaged.
    """
    if version_of_note is None or version_of_note <= version:
        return ""
    return (
        f"commits up to version {version_of_note} were acknowledged, the record ends at version {version}: "
        "its log was damaged or removed; add the newest documents again"
    )


def shrink(connection: Connection) -> None:
    """Give pages that deletions freed back to the disk, where they are many."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if connection.execute("PRAGMA freelist_count").fetchone()[0] > _FREE_SHARE * pages:
        connection.execute("VACUUM")


def _remains(folder: Path) -> str:
    """Return the files of an index besides its record."""
    files = len(list((folder / SEGMENTS).glob(f"*{SUFFIX}"))) if (folder / SEGMENTS).is_dir() else 0
    version = mark.read(folder).version
    if not files and version == 0:
        return ""
    return f"{files} segment files and a note of version {'?' if version is None else version}"
