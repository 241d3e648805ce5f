"""Connections are shared between threads and never used across a fork."""

import os
import sqlite3
from pathlib import Path

import pytest

from sleuth.store.catalogue.pool import ConnectionPool
from sleuth.store.record.layout import Connection, connect
from sleuth.store.store import Store


def test_a_child_uses_no_connection_of_its_parent(tmp_path: Path) -> None:
    """Idle connections are closed before a fork, failed ones at once; parent and child open their own afterwards."""
    Store.open(tmp_path, create=True).close()
    makers: dict[Connection, int] = {}

    def make() -> Connection:
        connection = connect(tmp_path / "record.sqlite", write=True)
        makers[connection] = os.getpid()
        return connection

    pool = ConnectionPool(make, str(tmp_path))
    first = pool.acquire()
    pool.release(first)
    assert pool.acquire() is first
    pool.discard(first)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")
    first, held = pool.acquire(), pool.acquire()
    pool.release(first)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            pool.release(held)  # which nobody may use here
            status = 0 if makers[pool.acquire()] == os.getpid() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    pool.release(held)
    assert pool.acquire() is held
    assert pool.acquire() is not first
    pool.close()
