"""Checks whether there is an index in a folder, and whether this process may write into it."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.schema import Access, Schema
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.disk.files import DOCUMENTS
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.mark import write_salt
from sleuth.store.record.metadata import as_json

DOCUMENTS_SCHEMA = Schema(
    DOCUMENTS,
    record.FORMAT,
    record.SCHEMA,
    "`sleuth index --rebuild --index {}` makes it again from format 3 on; index files of others with --index FOLDER",
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
            files = len(list((folder / DOCUMENTS.segments).glob(f"*{SUFFIX}")))
            version = mark.read(folder).version
            if files or version != 0:
                raise IndexDamagedError(
                    f"the record {folder / DOCUMENTS.record} is missing or empty; what remains: {files} segment "
                    f"files and a note of version {'?' if version is None else version}. "
                    "Restore it from a copy, or remove the folder and index the documents again",
                    path=str(folder),
                )
    return has_record


def create(folder: Path, settings: Mapping[str, Any]) -> None:
    """Make an empty index, durably; two processes that do it at once make one."""
    stored = as_json(settings, "settings")
    text = stored.text if stored else "{}"

    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('settings', ?)", (text,))
        write_salt(connection, secrets.randbits(32))

    schema.create(folder, DOCUMENTS_SCHEMA, fill)


def probe(folder: Path) -> Access:
    """Return what this process may do with the index of a folder, and whether it must be created first.

    Raises:
        IndexDamagedError, IndexUnsafeError, FormatVersionError: as `is_whole`.
    """
    with schema.readable(folder):
        (folder / DOCUMENTS.segments).is_dir()  # one that nobody may look into is not on a read-only disk
    return schema.probe(folder, DOCUMENTS_SCHEMA, lambda: is_whole(folder))


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
