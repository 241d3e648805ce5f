"""The lock of the one writer of an index, and who holds it.

One writer at a time, over all threads and processes: a lock on a file, which the system ends when its holder dies.
The text that the holder writes into the file is for people, not for the lock. A waiting writer holds the lock of a
second file, the queue, so that a writer that returns at once does not overtake all others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from platform import node
from typing import Any

from sleuth import platform
from sleuth.errors import ArgumentError, IndexLockedError, StoreError
from sleuth.store.disk.files import disk_failure, open_file, opened_file

_LONGEST_WAIT = 0.01
"""Seconds between two tries: one that waits for long is late by no more."""
_HOLDER_BYTES = 4096


class WriterLock:
    """The right to write into one index folder; `acquire` gives it, `release` gives it back."""

    def __init__(self, path: Path) -> None:
        """Create a lock on the file `path`, which ends in .lock; its queue is the file beside it ending in .queue."""
        self._path = path
        self._fd = -1

    def acquire(self, timeout: float) -> None:
        """Wait up to `timeout` seconds.

        Raises:
            ArgumentError: `timeout` is no such number.
            IndexLockedError: somebody else held it all that time; names them.
            StoreError: this process may not write here.
        """
        # NaN is not.
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout >= 0:
            raise ArgumentError(f"timeout must be a number of seconds of 0 or more, got {timeout!r}")
        deadline = time.monotonic() + timeout
        try:
            queue = self._take(self._path.with_suffix(".queue"), deadline, timeout)
            try:
                self._fd = self._take(self._path, deadline, timeout)
            finally:
                _let_go(queue)
            with suppress(OSError):  # a full disk must not keep a writer from deleting
                os.ftruncate(self._fd, 0)
                # Without the arguments of the command line, which may hold a key.
                program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
                since = datetime.now(UTC).isoformat(timespec="seconds")
                holder = {"pid": os.getpid(), "host": node(), "program": program[:200], "since": since}
                platform.write_at(self._fd, json.dumps(holder).encode(), 0)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let the next one in. Harmless where it is not held."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            with suppress(OSError):
                os.ftruncate(fd, 0)
        finally:
            _let_go(fd)

    def forget(self) -> None:
        """Run in a forked child: drop what was inherited without releasing the parent's lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _take(self, path: Path, deadline: float, timeout: float) -> int:
        """Return the descriptor of a locked file."""
        while True:
            try:
                fd = open_file(path, os.O_RDWR | os.O_CREAT)
            except OSError as error:
                raise disk_failure(path.parent, error) from error
            try:
                self._wait(fd, deadline, timeout)
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(fd), path.stat()):
                        return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)  # somebody removed the file: a lock on it would keep nobody out

    def _wait(self, fd: int, deadline: float, timeout: float) -> None:
        pause = 0.0005  # then half as long again each time: most locks are held for a moment
        while True:
            try:
                platform.lock(fd, wait=False)
            except BlockingIOError:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    raise self._refusal(timeout) from None
                time.sleep(min(pause, remaining))
                pause = min(pause * 1.5, _LONGEST_WAIT)  # tries get rare while a lock is held
            except OSError as error:
                folder = self._path.parent
                raise StoreError(
                    f"cannot lock {self._path}: {error.strerror}; a file system without locks keeps no index: "
                    "make it on a local disk",
                    path=str(folder),
                ) from error
            else:
                return

    def _refusal(self, timeout: float) -> IndexLockedError:
        holder = read_holder(self._path) or {}
        who = (
            f"process {holder['pid']} on {holder['host']} ({holder['program']}) since {holder['since']}"
            if holder
            else "another process"
        )
        return IndexLockedError(
            f"{self._path.parent} is being written by {who}; waited {timeout:g} s: "
            "try again when it is done, or stop it",
            path=str(self._path.parent),
            holder=holder,
        )


def _let_go(fd: int) -> None:
    """Unlock and close; closing alone would not do, since a child forked meanwhile has the same open file."""
    platform.unlock(fd)
    os.close(fd)


def read_holder(path: Path) -> dict[str, Any] | None:
    """Return what the holder of the lock wrote of itself; None where nobody holds it."""
    try:
        with opened_file(path) as fd:
            try:
                platform.lock(fd, shared=True, wait=False)
            except BlockingIOError:
                text = platform.read_at(fd, _HOLDER_BYTES, 0)
            else:
                return None
    except OSError:
        return None
    try:
        holder = json.loads(text)
    except ValueError:
        return {}
    is_complete = isinstance(holder, dict) and {"pid", "host", "program", "since"} <= holder.keys()
    return holder if is_complete else {}
