"""Puts a new database in the place of one whose structure is damaged; a copy of the damaged one stays beside it.

One commit does it, or a new file where SQLite does not open the damaged one. What goes into the new one is for the
caller, who reads the pages of the copy (`pages.py`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from sleuth.errors import IndexDamagedError
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import open_file
from sleuth.store.health.pages import PageRow, apply_log, rows_of
from sleuth.store.health.proofs import check_structure
from sleuth.store.record import layout as record
from sleuth.store.record.codebook import Codebooks
from sleuth.store.record.layout import Connection

T = TypeVar("T")
_TYPES = {type(None): "-", int: "i", float: "f", bytes: "b", str: "t"}


class Replacement(NamedTuple, Generic[T]):
    """A database that was replaced.

    Attributes:
        content: what the caller says of the new one.
        problem: of the damaged one, in short.
        aside: the copy of it.
    """

    content: T
    problem: str
    aside: Path


def replace_damaged(
    database: Database,
    timeout: float,
    rebuild: Callable[[Path, Connection], T],
    settle: Callable[[T], None] = lambda _: None,
) -> Replacement[T] | None:
    """Replace a database whose structure is damaged, under the writer's lock; None where the structure is sound.

    Args:
        rebuild: fills an empty database from the copy of the damaged one, and commits.
        settle: is called under the lock, when the new one is in its place.

    Raises:
        IndexDamagedError: `rebuild` raised it. Everything stays as it was.
    """
    path = database.path
    try:
        with database.locked(timeout, sweep=False) as connection, record.translated(path):
            problem = _problem(connection)
            if not problem:
                return None
            aside = _set_aside(database, connection)
            content = _write_over(connection, aside, rebuild)
            settle(content)
            database.sweep(connection)
        database.checkpoint(force=True)
        return Replacement(content, problem, aside)
    except IndexDamagedError as error:
        if error.__cause__ is None:
            raise
        problem = str(error.__cause__)  # SQLite does not open it
    database.close()
    lock = WriterLock(path / database.names.lock)
    lock.acquire(timeout)
    try:
        aside = _set_aside(database)
        content = _put_in_place(database, aside, rebuild)
        settle(content)
    finally:
        lock.release()
    return Replacement(content, problem, aside)


def page_rows(file: Path) -> Iterator[PageRow]:
    """Yield the rows on the pages of a database file, proven or not."""
    with file.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
        size = int.from_bytes(content[16:18], "big")
        yield from rows_of(content, size if size >= 512 and size & (size - 1) == 0 else record.PAGE)


def types_of(row: PageRow) -> str:
    """Return the types of a row's values: a letter each, of (i)nteger, (f)loat, (b)lob, (t)ext and - for nothing."""
    return "".join([_TYPES[type(value)] for value in row.values])


def temporary() -> Connection:
    """Return an empty database in a temporary file, which SQLite removes."""
    connection = sqlite3.connect("", isolation_level=None, factory=Connection)
    connection.books = Codebooks()
    connection.execute(f"PRAGMA page_size = {record.PAGE}")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    return connection


def insert(connection: Connection, table: str, values: list[Any] | tuple[Any, ...]) -> None:
    """Insert a row, unless there is one of its key."""
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)


def _problem(connection: Connection) -> str:
    """Return what is wrong with the structure, in short; empty where nothing is."""
    try:
        message = next((finding.message for finding in check_structure(connection)), "")
    except sqlite3.OperationalError:  # busy, or the disk fails
        raise
    except sqlite3.DatabaseError as error:
        message = str(error)
    return message if len(message) <= 120 else f"{message[:117]}..."


def _set_aside(database: Database, connection: Connection | None = None) -> Path:
    """Copy the damaged database, with what is in its log, into a durable file beside it.

    Args:
        connection: to it; None where SQLite does not open it.
    """
    path = database.path
    for number in count(1):
        aside = path / f"{database.names.record}.damaged-{number}"
        with record.failing_disk(path), suppress(FileExistsError):
            os.close(open_file(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            break
    try:
        if connection is None:
            with record.failing_disk(path):
                _write(aside, _whole(path / database.names.record))
        else:
            _back_up(connection, aside)
        sync_folder(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _whole(file: Path) -> bytes:
    """Return the bytes of a database with what is committed in its log."""
    content, log = bytearray(file.read_bytes()), file.with_name(f"{file.name}-wal")
    if log.is_file():
        apply_log(content, log.read_bytes())
    return bytes(content)


def _write(file: Path, content: bytes) -> None:
    """Fill a file that is there, durably."""
    with os.fdopen(open_file(file, os.O_WRONLY | os.O_TRUNC), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _back_up(source: Connection, file: Path) -> None:
    """Copy a database into a file that is there and empty, page by page, durably."""
    with closing(sqlite3.connect(file, isolation_level=None)) as copy:
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = FULL")
        source.backup(copy)


def _write_over(connection: Connection, aside: Path, rebuild: Callable[[Path, Connection], T]) -> T:
    """Rebuild a database from its copy and write it over the damaged one, in one commit."""
    replacing = False
    try:
        with closing(temporary()) as rebuilt:
            content = rebuild(aside, rebuilt)
            replacing = True
            rebuilt.backup(connection)
            return content
    except BaseException as error:
        if not replacing or isinstance(error, sqlite3.Error):  # else the commit may be made
            aside.unlink(missing_ok=True)
        raise


def _put_in_place(database: Database, aside: Path, rebuild: Callable[[Path, Connection], T]) -> T:
    """Rebuild a database that SQLite does not open as a new file, and put it in the place of the damaged one."""
    path, file = database.path, database.path / database.names.record
    new = file.with_name(f"{file.name}.new")
    try:
        with closing(temporary()) as rebuilt, record.failing_disk(path):
            content = rebuild(aside, rebuilt)
            new.unlink(missing_ok=True)
            os.close(open_file(new, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            _back_up(rebuilt, new)
            with closing(sqlite3.connect(new)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
            for ending in ("-wal", "-shm"):  # of the damaged one; the copy holds what they held
                file.with_name(f"{file.name}{ending}").unlink(missing_ok=True)
            new.replace(file)
        sync_folder(path)
    except BaseException:
        new.unlink(missing_ok=True)
        aside.unlink(missing_ok=True)
        raise
    return content
