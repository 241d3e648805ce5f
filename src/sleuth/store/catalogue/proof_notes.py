"""Notes which files of an index are proven, so that one process proves them for all until the machine restarts."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from sleuth.errors import IndexUnsafeError
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.catalogue.segments import Opened
from sleuth.store.disk.files import Names, open_file

_SETTLED_NS: Final = 2_000_000_000
"""Age of a file from which any further change shows in its times, which many file systems keep in coarse steps."""
_MOST_BYTES: Final = 1 << 20
_TURN: Final = 1.0
"""Seconds between two looks whether another process has ended its proof."""


class _Identity(NamedTuple):
    """What changes with any change of a file, also if its modification time is set back."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


class ProofNotes:
    """The files of one database of an index folder that were proven since the machine was started.

    A note counts only for the same file with the same size and times, and only until the next start of the machine.
    Where the folder allows no notes, each process proves for itself.
    """

    def __init__(self, folder: Path, names: Names, opened: Callable[[str], Opened | None]) -> None:
        """Create notes that are read at each `turn`.

        Args:
            folder: of the index.
            opened: returns an open segment by its name.
        """
        self._file, self._record = folder / names.proofs, folder / names.record
        self._segments, self._opened = folder / names.segments, opened
        self._notes: dict[str, list[int]] = {}
        self._fd = -1

    @contextmanager
    def turn(self, wait: Callable[[float], object]) -> Iterator[None]:
        """Let no other process prove for the length of a block.

        Args:
            wait: waits for so many seconds.
        """
        try:
            self._fd = open_file(self._file, os.O_RDWR | os.O_CREAT)
        except (OSError, IndexUnsafeError):
            yield
            return
        try:
            while not _is_locked(self._fd):
                wait(_TURN)
            self._notes = _read(self._fd)
            yield
        finally:
            os.close(self._fd)
            self._fd = -1

    def after_fork(self) -> None:
        """Run in a forked child: close the parent's file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def segment(self, name: str, prove: Callable[[], bool]) -> None:
        """Prove a segment unless its file is noted."""
        self._once(name, lambda: self._of_segment(name), prove)

    def record(self, prove: Callable[[], bool]) -> None:
        """Prove the database unless it is noted."""
        self._once(self._record.name, self._of_record, prove)

    def _once(self, name: str, state: Callable[[], list[int]], prove: Callable[[], bool]) -> None:
        """Call `prove` unless the state is noted; note it if the proof succeeds and nothing changed meanwhile."""
        before = state()
        if before and self._notes.get(name) == before:
            return
        is_settled = time.time_ns() - max(before[4::5], default=0) > _SETTLED_NS
        if prove() and before and is_settled and state() == before and self._fd >= 0 and _boot():
            self._notes[name] = before
            content = json.dumps({"boot": _boot(), "files": self._notes}).encode()
            with suppress(OSError):  # half a note proves nothing
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, content, 0)

    def _of_segment(self, name: str) -> list[int]:
        """Return the state of the file that an open segment is read from; empty if its name leads to no such file."""
        segment = self._opened(name)
        identity = _identity(self._segments / f"{name}{SUFFIX}")
        if segment is None or identity is None or segment.inode != identity[:2]:
            return []
        return list(identity)

    def _of_record(self) -> list[int]:
        """Return the state of the database and its log."""
        identity, log = _identity(self._record), _identity(self._record.with_name(f"{self._record.name}-wal"))
        return [*(identity or ()), *(log if log and log.size else ())]


def _identity(path: Path) -> _Identity | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return _Identity(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _is_locked(fd: int) -> bool:
    """Return whether this process has the lock of a file now."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(fd: int) -> dict[str, list[int]]:
    """Return the notes of this start of the machine."""
    with suppress(OSError, ValueError, RecursionError, AttributeError):
        content = json.loads(os.pread(fd, _MOST_BYTES, 0))
        files = content.get("files")
        if _boot() and content.get("boot") == _boot() and isinstance(files, dict):
            return files
    return {}


@cache
def _boot() -> str:
    """Return what names this start of the machine; empty where that is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
