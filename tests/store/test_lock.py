"""Locks of writers, and connections of readers, between threads and over forks."""

import errno
import fcntl
import os
import sqlite3
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from sleuth.errors import IndexLockedError, IndexUnsafeError, StoreError
from sleuth.store.catalogue.database import ConnectionPool
from sleuth.store.catalogue.lock import WriterLock, read_holder
from sleuth.store.disk.files import opened_folder
from sleuth.store.record.layout import Connection, connect
from sleuth.store.store import Store
from tests.commands import run_in_child


def test_a_lock_on_a_file_that_was_removed_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock on a removed file waits for the holder of the lock on its replacement."""
    path = tmp_path / "writer.lock"
    others: list[int] = []
    really = fcntl.flock

    def after_a_removal(fd: int, operation: int) -> None:
        if not others and path.exists() and os.path.samestat(os.fstat(fd), path.stat()):
            path.unlink()
            others.append(os.open(path, os.O_RDWR | os.O_CREAT))
            really(others[0], fcntl.LOCK_EX)
        really(fd, operation)

    monkeypatch.setattr(fcntl, "flock", after_a_removal)
    lock = WriterLock(path)
    with pytest.raises(IndexLockedError):
        lock.acquire(0.05)
    os.close(others[0])
    lock.acquire(0.05)
    assert read_holder(path) is not None
    lock.release()
    assert read_holder(path) is None


def test_a_holder_tells_no_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder's process, host, program and time are recorded, but not its arguments, which may contain a key."""
    monkeypatch.setattr(sys, "argv", ["/usr/bin/sleuth", "web", "--key", "tvly-secret"])
    lock = WriterLock(tmp_path / "writer.lock")
    lock.acquire(0)
    assert b"secret" not in (tmp_path / "writer.lock").read_bytes()
    holder = read_holder(tmp_path / "writer.lock")
    assert holder is not None
    assert holder.keys() == {"pid", "host", "program", "since"}
    assert (holder["pid"], holder["program"]) == (os.getpid(), "sleuth")
    with pytest.raises(IndexLockedError, match=rf"process {os.getpid()} on .* \(sleuth\) since 20"):
        WriterLock(tmp_path / "writer.lock").acquire(0)
    lock.release()


@pytest.mark.parametrize("calls", [1, 2], ids=["taken", "released"])
def test_ctrl_c_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """A lock is free again after an interruption while its holder is noted or removed."""
    lock = WriterLock(tmp_path / "writer.lock")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "ftruncate", Mock(side_effect=[*[None] * (calls - 1), KeyboardInterrupt, None]))
        lock.acquire(0)
        lock.release()
    WriterLock(tmp_path / "writer.lock").acquire(0)


def test_queues_of_two_locks_are_two(tmp_path: Path) -> None:
    """A waiting writer of code does not block a writer of documents."""
    for name in ("writer.lock", "code.lock"):
        lock = WriterLock(tmp_path / name)
        lock.acquire(0)
        lock.release()
    names = {"writer.lock", "writer.queue", "code.lock", "code.queue"}
    assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EIO, errno.EINTR])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """A failing flock raises a StoreError with the reason, and leaves no descriptor open."""
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=OSError(code, os.strerror(code))))
    with pytest.raises(StoreError, match=f"cannot lock .*{os.strerror(code)}.*local disk"):
        WriterLock(tmp_path / "writer.lock").acquire(1)
    open_files = {str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}
    assert not any(target.startswith(str(tmp_path)) for target in open_files)


@pytest.mark.parametrize("name", ["link", "segments/link", "file"])
def test_what_is_no_folder_is_not_opened_as_one(tmp_path: Path, name: str) -> None:
    """A folder of an index is neither a link nor a file; the error names the index."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.touch() if name == "file" else path.symlink_to(tmp_path)
    reason = "file is a file" if name == "file" else "link is a link"
    with pytest.raises(IndexUnsafeError, match=reason) as raised, opened_folder(path):
        pass
    assert raised.value.path == str(tmp_path)


@pytest.mark.parametrize("name", ["writer.lock", "writer.queue"])
def test_a_lock_that_is_a_link(tmp_path: Path, name: str) -> None:
    """A lock file that is a link is refused, and its target is not truncated."""
    (tmp_path / "outside").write_text("precious")
    (tmp_path / name).symlink_to(tmp_path / "outside")
    with pytest.raises(IndexUnsafeError, match=f"{name} is a link"):
        WriterLock(tmp_path / "writer.lock").acquire(0)
    assert (tmp_path / "outside").read_text() == "precious"


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

    def work() -> None:
        pool.release(held)  # which nobody may use here
        assert makers[pool.acquire()] == os.getpid()

    run_in_child(work)
    pool.release(held)
    assert pool.acquire() is held
    assert pool.acquire() is not first
    pool.close()
