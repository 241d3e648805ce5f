"""Who is writing?

One writer at a time, over all threads and processes: `flock` on a file, which the kernel lets go of when its holder
dies. What the holder wrote into the file is for people, not for the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sleuth.errors import IndexLockedError, StoreError

_LONGEST_WAIT = 0.05


class WriterLock:
    """The right to write into one index folder; `acquire` gives it, `release` gives it back."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, timeout: float) -> None:
        """Wait up to `timeout` seconds.

        Raises:
            IndexLockedError: somebody else held it all that time; names them.
            StoreError: this process may not write here.
        """
        try:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(
                f"cannot write into {self._path.parent}: {error.strerror}", path=str(self._path.parent)
            ) from error
        try:
            self._wait(fd, timeout)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        with suppress(OSError):  # a full disk must not keep a writer from deleting
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps(_myself()).encode(), 0)

    def release(self) -> None:
        """Let the next one in. Harmless where it is not held."""
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        with suppress(OSError):
            os.ftruncate(fd, 0)
        # Closing would not do: a child forked meanwhile has the same open file.
        fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def forget(self) -> None:
        """In a forked child: drop what was inherited without letting go of the parent's lock."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _wait(self, fd: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        pause = 0.001
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._refusal(timeout) from None
                time.sleep(min(pause, left))
                pause = min(pause * 1.5, _LONGEST_WAIT)
            else:
                return

    def _refusal(self, timeout: float) -> IndexLockedError:
        holder = read_holder(self._path) or {}
        who = (
            f"process {holder['pid']} on {holder['host']} ({holder['command']}) since {holder['since']}"
            if holder
            else "another process"
        )
        return IndexLockedError(
            f"{self._path.parent} is being written by {who}; waited {timeout:g} s: "
            "try again when it is done, or stop it",
            path=str(self._path.parent),
            holder=holder,
        )


def read_holder(path: Path) -> dict[str, Any] | None:
    """What the holder of the lock wrote of itself; None where nobody holds it."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = file.read()
            else:
                return None
    except OSError:
        return None
    try:
        holder = json.loads(text)
    except ValueError:
        return {}
    whole = isinstance(holder, dict) and {"pid", "host", "command", "since"} <= holder.keys()
    return holder if whole else {}


def _myself() -> dict[str, Any]:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv and sys.argv[0] else "python"
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "command": command[:200],
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
