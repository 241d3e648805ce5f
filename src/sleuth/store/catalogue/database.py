"""Connects to one SQLite database of an index folder, and keeps its segments and the lock of its one writer."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sleuth import platform
from sleuth.errors import StoreError
from sleuth.store.catalogue import manifest, segment_files
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.disk.files import Names, failing_disk, log_bytes, make_folder, opened_file
from sleuth.store.record import layout as record
from sleuth.store.record.layout import Connection

_LOG_BYTES = 4 << 20
"""A log larger than this is copied into the database, in the background."""
_BUSY_MS = 20
_FORK_PATIENCE = 5.0
"""Seconds for which a fork waits for readers in other threads."""
_INHERITED: list[object] = []


class ConnectionPool:
    """Connections of one database that its users share.

    Connections are kept when a reader is done and given to the next one, of whatever thread. SQLite forbids carrying a
    connection over a fork, and a child that opens the same file while it has inherited ones would share their stale
    idea of which locks are held: so connections are closed before a fork, and the fork waits a moment for those in use.

    Args:
        connect: makes a connection.
        path: the index folder, for messages.
    """

    def __init__(self, connect: Callable[[], Connection], path: str) -> None:
        self._connect = connect
        self._path = path
        self._idle: list[Connection] = []
        self._busy: dict[object, int] = {}  # threads by the connections that they use or make
        self._open = threading.Event()
        self._open.set()
        self._closed = False
        platform.at_fork("before", self._before_fork)
        platform.at_fork("after_in_parent", self._resume)
        platform.at_fork("after_in_child", self._after_fork)

    def acquire(self) -> Connection:
        """Return a connection that nobody else uses.

        Raises:
            StoreError: the store is closed.
        """
        while True:
            if self._closed:
                raise StoreError(f"the index {self._path} is closed: open it again", path=self._path)
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._make()
            self._busy[connection] = threading.get_ident()
            if self._open.is_set():
                return connection
            self.release(connection)  # a fork is under way
            self._open.wait()

    def _make(self) -> Connection:
        """Open a connection. A fork waits for it: SQLite's own locks would stay locked in the child."""
        making = object()
        while True:
            self._busy[making] = threading.get_ident()
            try:
                if self._open.is_set():
                    return self._connect()
            finally:
                del self._busy[making]
            self._open.wait()

    def release(self, connection: Connection) -> None:
        """Give a connection back, and end its transaction."""
        if connection not in self._busy:
            return  # discarded, or inherited through a fork: it must be neither used nor closed
        connection.let_go()
        if self._closed:
            connection.close()  # while it counts as used, so that a fork waits
            del self._busy[connection]
        else:
            del self._busy[connection]
            self._idle.append(connection)

    def discard(self, connection: Connection) -> None:
        """Close a connection that failed."""
        if connection in self._busy:
            connection.close()
            del self._busy[connection]

    def close(self) -> None:
        """Close all that is idle; what is in use is closed when it is given back."""
        self._closed = True
        self._drain()

    def _before_fork(self) -> None:
        """Hold readers back and close every connection; those that stay in use are left to the child unused."""
        self._open.clear()
        me = threading.get_ident()
        deadline = time.monotonic() + _FORK_PATIENCE
        while any(owner != me for owner in list(self._busy.values())) and time.monotonic() < deadline:
            time.sleep(0.001)  # a query ends in a few of these
        self._drain()

    def _after_fork(self) -> None:
        """Run in a forked child: let readers go on, with connections of their own."""
        _INHERITED.extend(self._busy)  # never closed: closing would meddle with the parent's locks
        self._busy = {}
        self._open = threading.Event()
        self._resume()

    def _resume(self) -> None:
        self._open.set()

    def _drain(self) -> None:
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:
                return


class Database:
    """An open database. Safe to share between threads; usable in a forked child.

    Attributes:
        path: the index folder.
        names: what its parts are called there.
        file: of the database.
        segments: the folder of segment files.
        writable: whether this process may write.
        read_only: what to say where it may not.
    """

    def __init__(self, path: Path, names: Names, *, writable: bool, immutable: bool) -> None:
        """Open an existing database.

        Args:
            immutable: read it as a file that nobody changes, as on a read-only disk.
        """
        self.path = path
        self.names = names
        self.segments = path / names.segments
        self.writable = writable
        self.read_only = f"{path} is read-only: open it where it may write"
        self.file = file = path / names.record
        self._name = str(file)
        self.readers = ConnectionPool(
            lambda: record.connect(file, write=False, immutable=immutable, shared=writable), str(path)
        )
        self.writers = ConnectionPool(lambda: record.connect(file, write=True), str(path))
        self._locks: list[WriterLock] = []
        self._swept = False
        self._identity: tuple[int, int] | None = None  # its device and inode, since it was first looked at
        platform.at_fork("after_in_child", self.after_fork)

    # --- connections

    @contextmanager
    def connection(self, *, write: bool = False) -> Iterator[Connection]:
        """Provide a connection for a few statements.

        Raises:
            StoreError: what SQLite refuses.
        """
        pool = self.writers if write else self.readers
        try:
            connection = self.writers.acquire() if write else self.reader()
            try:
                yield connection
            except sqlite3.Error:
                pool.discard(connection)
                raise
            finally:
                pool.release(connection)
        except record.FAILURES as error:
            raise record.translate(error, self.path) from error

    def reader(self) -> Connection:
        """Return a connection of `readers`, for the caller to give back.

        The file is looked at first: a further connection to a file that has taken its place would give answers of two
        indexes.

        Raises:
            StoreError: another file has taken its place. If its name is gone, the open file is still read.
        """
        self._check_unchanged()
        try:
            return self.readers.acquire()
        except sqlite3.Error as error:  # a further connection to a folder that was moved
            raise record.translate(error, self.path) from error

    def _check_unchanged(self) -> None:
        """Raise if the database file was replaced since it was last looked at; see `reader` for why.

        This costs one `stat` a query.
        """
        try:
            facts = os.stat(self._name)  # noqa: PTH116 - for every query
        except OSError:  # SQLite says what is wrong
            return
        identity = facts.st_dev, facts.st_ino
        if self._identity not in (None, identity):
            raise StoreError(
                f"{self.path} was replaced by another index while it was open: close it and open it again",
                path=str(self.path),
            )
        self._identity = identity

    @contextmanager
    def locked(self, timeout: float, *, sweep: bool) -> Iterator[Connection]:
        """Provide the connection of the one writer, over all threads and processes, for the length of a block.

        Args:
            timeout: seconds to wait for the writer before.
            sweep: whether files that a crash left may be removed; an index that was only opened deletes nothing.

        Raises:
            IndexLockedError: another writer holds the index; names it.
            StoreError: this process may not write here, or another index has taken the place of the open one.
        """
        if not self.writable:
            raise StoreError(self.read_only, path=str(self.path))
        lock = WriterLock(self.path / self.names.lock)
        lock.acquire(timeout)
        self._locks.append(lock)
        try:
            self._check_unchanged()
            with record.translated(self.path):
                connection = self.writers.acquire()
            try:
                if not self.segments.is_dir():
                    with failing_disk(self.path):
                        make_folder(self.segments)
                if sweep and not self._swept:
                    self.sweep(connection)
                    self._swept = True
                yield connection
            except BaseException:
                self.writers.discard(connection)  # a failed disk leaves connections in doubt
                raise
            self.writers.release(connection)
        finally:
            self._locks.remove(lock)
            lock.release()

    @property
    def is_being_written(self) -> bool:
        """Whether a writer of this object holds the lock."""
        return bool(self._locks)

    def sweep(self, connection: Connection) -> None:
        """Remove the segments that a crash or a merge left behind; for the writer, outside of a transaction."""
        with record.translated(self.path):
            names = {entry.name for entry in manifest.entries(connection)}
        with failing_disk(self.path):
            if segment_files.orphans(self.segments, names):
                # Make every commit durable, also one whose process was killed before its sync.
                with (
                    suppress(FileNotFoundError),
                    opened_file(self.file.with_name(f"{self.file.name}-wal")) as log,
                ):
                    os.fsync(log)
                segment_files.sweep(self.segments, names)

    # --- upkeep

    def checkpoint(self, *, force: bool = False, writer: Connection | None = None) -> bool:
        """Copy the log into the database and empty it where it is long, or on request; whether that was done.

        So no deleted text stays in it. Waits for readers a moment only: what can be copied is copied. Nothing is lost
        where it cannot be copied, for readers or for want of space: it is tried again after the next commit.

        Args:
            writer: the connection of the writer, between two transactions; None for another one.
        """
        if not (self.writable and (force or log_bytes(self.file) > _LOG_BYTES)):
            return False
        if writer is None:
            with self.connection(write=True) as connection:
                return self.checkpoint(force=True, writer=connection)
        writer.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        try:
            busy, pages, copied = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL):
                raise
            return False
        else:
            return not busy and pages == copied
        finally:
            writer.execute(f"PRAGMA busy_timeout = {int(record.BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        """Close all connections. Closing twice is fine."""
        self.readers.close()
        self.writers.close()

    def after_fork(self) -> None:
        """Run in a forked child: replace the parent's locks."""
        for lock in self._locks:
            lock.forget()
        self._locks = []
