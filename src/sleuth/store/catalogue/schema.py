"""Makes a database of an index folder, and tells whether one is there and what this process may do with it."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sleuth.errors import ArgumentError, FormatVersionError, IndexDamagedError, IndexUnsafeError, StoreError
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import (
    Names,
    check_parts,
    failing_disk,
    log_bytes,
    make_database,
    make_folder,
    make_index,
)
from sleuth.store.record import layout as record
from sleuth.store.record.layout import Connection

_CREATION_SECONDS = 10.0
"""For which one process waits while another makes the same index, as writers do by default."""
_OWN = re.compile(r"CREATE (?:UNIQUE )?(TABLE|INDEX) (\w+)")
_VIRTUAL = re.compile(r"\s*CREATE\s+VIRTUAL", re.IGNORECASE)


class Schema(NamedTuple):
    """A kind of database.

    Attributes:
        names: what its parts are called in an index folder.
        format: the version of its format.
        statements: what makes its tables.
        again: what to do about one of another format; `{}` stands for the index folder, as a shell reads it.
    """

    names: Names
    format: int
    statements: str
    again: str


def folder_at(path: str | os.PathLike[str]) -> Path:
    """Return the folder that a path names, if none of its parts leads out of it.

    Raises:
        ArgumentError: it is no path.
        IndexUnsafeError: a part is a link or belongs to somebody else.
        StoreError: something else than a folder is there.
    """
    try:
        folder = Path(path).absolute()  # the process may change its working directory while the index is open
        os.fsencode(folder)
    except (TypeError, UnicodeEncodeError):
        folder = Path("\0")
    if "\0" in str(folder):
        raise ArgumentError(f"path must be the path of a folder, as text or a Path, got {path!r}")
    check_parts(folder)
    if os.path.exists(folder) and not os.path.isdir(folder):  # noqa: PTH110, PTH112 - a path out of reach is no error here
        raise StoreError(
            f"{folder} must be the folder of an index, and is a file: name another folder, or move the file away",
            path=str(folder),
        )
    return folder


def create(folder: Path, schema: Schema, fill: Callable[[Connection], object] | None = None) -> None:
    """Make an empty database, durably; two processes that do it at once make one.

    Args:
        fill: inserts its first rows, in the transaction that makes the tables.
    """
    with failing_disk(folder):
        make_index(folder)
        make_folder(folder / schema.names.segments)
    lock = WriterLock(folder / schema.names.lock)
    lock.acquire(_CREATION_SECONDS)
    try:
        with record.translated(folder):
            _make(folder / schema.names.record, schema, fill)
        for path in (folder, folder.absolute().parent.resolve()):  # the index may lie below a link
            sync_folder(path)
    finally:
        lock.release()


def _make(path: Path, schema: Schema, fill: Callable[[Connection], object] | None) -> None:
    """Make the tables in one transaction; what a crash left of an earlier attempt is no obstacle."""
    make_database(path)
    connection = sqlite3.connect(path, timeout=record.BUSY_SECONDS, isolation_level=None, factory=Connection)
    connection.folder = path.parent
    try:
        connection.execute(f"PRAGMA page_size = {record.PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for statement in schema.statements.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {record.APPLICATION}")
            connection.execute(f"PRAGMA user_version = {schema.format}")
            if fill:
                fill(connection)
        connection.execute("COMMIT")
    finally:
        connection.close()


def is_whole(folder: Path, schema: Schema) -> bool:
    """Return whether a database was made here, and made whole.

    Raises:
        IndexDamagedError: one that cannot be read.
        FormatVersionError: another version of the format.
    """
    file = folder / schema.names.record
    with readable(folder):
        if not file.exists() or not file.stat().st_size:
            return False
    with record.translated(folder):
        connection = record.connect(file, write=os.access(file, os.W_OK))
        try:
            return _has_format(connection, file, schema)
        finally:
            connection.close()


def _has_format(connection: sqlite3.Connection, path: Path, schema: Schema) -> bool:
    """Return whether the tables were made: False for what a crash left of a creation."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version == schema.format:
        # A trigger, a view or a generated column would change what a statement does.
        own_statements = {
            _OWN.findall(text)[0]: text.strip().removesuffix(";")
            for text in schema.statements.split(";\n")
            if _OWN.search(text)
        }
        for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
            if statement is None and kind == "index":
                continue
            expected = own_statements.get((str(kind).upper(), str(name)))
            if expected is None or _VIRTUAL.match(str(statement)):
                raise _foreign(path, kind, name)
            if statement != expected:
                raise IndexDamagedError(
                    f"the {kind} {name!r} of {path.name} is not as Sleuth makes it: run `sleuth doctor --repair`",
                    path=str(path.parent),
                )
        return True
    if not version and not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        return False
    again = schema.again.format(shlex.quote(str(path.parent)))
    raise FormatVersionError(
        f"{path} has format {version}, this version of Sleuth reads format {schema.format}: {again}",
        path=str(path.parent),
    )


def refuse_programs(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a record of any format that holds more than tables and indexes, which change what a statement does.

    Raises:
        IndexUnsafeError: names the part.
    """
    for kind, name, statement in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
        if kind not in ("table", "index") or _VIRTUAL.match(str(statement)):
            raise _foreign(path, kind, name)


def _foreign(path: Path, kind: str, name: str) -> IndexUnsafeError:
    return IndexUnsafeError(
        f"{path} holds a {kind} {name!r} that Sleuth did not make: index the documents again in another folder",
        path=str(path.parent),
        part=path.name,
    )


@contextmanager
def readable(folder: Path) -> Iterator[None]:
    """Raise a Sleuth error for a folder that this process may not read."""
    try:
        yield
    except OSError as error:
        mend = "; open it as a user who may read it" if isinstance(error, PermissionError) else ""
        raise StoreError(f"cannot look into {folder}: {error.strerror}{mend}", path=str(folder)) from error


class Access(NamedTuple):
    """What this process may do with a database.

    Attributes:
        whole: False for what a crash left of its creation.
        immutable: it must be read as a file that nobody changes. This is the way into a folder on a read-only disk,
            where SQLite cannot make the files that readers and writers share.
    """

    whole: bool
    writable: bool
    immutable: bool


def probe(folder: Path, schema: Schema, whole: Callable[[], bool] | None = None) -> Access:
    """Return what this process may do with the database of a folder; nothing is written.

    A folder on a read-only disk is refused while there is a log, whose commits would be missed.

    Args:
        whole: looks further than `is_whole`, and calls it.

    Raises:
        IndexDamagedError, IndexUnsafeError, FormatVersionError: as `is_whole`.
    """
    file = folder / schema.names.record
    writable = os.access(folder, os.W_OK) and os.access(file, os.W_OK)
    try:
        return Access(whole() if whole else is_whole(folder, schema), writable, immutable=False)
    except (IndexDamagedError, IndexUnsafeError, FormatVersionError):
        raise
    except StoreError:  # SQLite cannot open it, as on a read-only disk
        if writable or log_bytes(file):
            raise
        return Access(whole=True, writable=False, immutable=True)
