"""Connections of one database that readers share.

Connections are kept when a reader is done and given to the next one, of whatever thread. SQLite forbids carrying a
connection over a fork, and a child that opens the same file while it has inherited ones would share their stale idea
of which locks are held: so connections are closed before a fork, and the fork waits a moment for those in use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sleuth import platform
from sleuth.errors import StoreError
from sleuth.store.record.layout import Connection

_FORK_PATIENCE = 5.0
"""Seconds for which a fork waits for readers in other threads."""


class ConnectionPool:
    """Connections for reading one record.

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
        """Give a connection back, with no transaction open."""
        if connection not in self._busy:
            return  # inherited through a fork: it must be neither used nor closed
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


_INHERITED: list[object] = []
