"""The interface of `sleuth.platform` in what every system has, to see that no module needs more.

Locks are those of one process, and nothing limits a process.
"""

import errno
import mmap
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

_LOCK = Lock()
_HOLDERS: dict[tuple[int, int], dict[int, bool]] = {}
"""Which descriptors have locks on a file, and whether these are shared; a closed one has none any more."""


class UnplainError(OSError):
    pass


def kind_of(mode: int) -> str:
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFLNK: "a link"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _check(path: str | bytes | Path, mode: int, kind: int) -> None:
    if stat.S_IFMT(mode) != kind:
        raise UnplainError(errno.EINVAL, f"is {kind_of(mode)}", str(path))


def open_plain(path: str | bytes | Path, flags: int = os.O_RDONLY, *, follow: bool = False) -> int:
    """Look at the file before it is opened and after: it may be exchanged in between."""
    look = os.stat if follow else os.lstat
    if os.path.lexists(path) and not flags & os.O_EXCL:
        _check(path, look(path).st_mode, stat.S_IFREG)
    fd = os.open(path, flags, 0o600)
    if not os.path.samestat(os.fstat(fd), look(path)):
        os.close(fd)
        raise UnplainError(errno.EINVAL, "is a link", str(path))
    return fd


class OpenFolder:
    def __init__(self, path: Path) -> None:
        _check(path, path.lstat().st_mode, stat.S_IFDIR)
        self.names = lambda: [each.name for each in path.iterdir()]
        self.open = lambda name, flags=os.O_RDONLY: open_plain(path / name, flags)
        self.rename = lambda name, new_name: (path / name).replace(path / new_name)
        self.remove = lambda name: (path / name).unlink()
        self.sync = path.stat

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _file(fd: int) -> tuple[int, int] | None:
    try:
        return (status := os.fstat(fd)).st_dev, status.st_ino
    except OSError:
        return None


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    file = _file(fd)
    assert file is not None
    while True:
        with _LOCK:
            holders = {each: it for each, it in _HOLDERS.get(file, {}).items() if _file(each) == file}
            if all(each == fd or (shared and is_shared) for each, is_shared in holders.items()):
                _HOLDERS[file] = holders | {fd: shared}
                return
        if not wait:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        time.sleep(0.001)


def unlock(fd: int) -> None:
    for holders in list(_HOLDERS.values()):
        holders.pop(fd, None)


@contextmanager
def _at(fd: int, offset: int) -> Iterator[None]:
    with _LOCK:
        before = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, offset, os.SEEK_SET)
        yield
        os.lseek(fd, before, os.SEEK_SET)


def read_at(fd: int, size: int, offset: int) -> bytes:
    with _at(fd, offset):
        return os.read(fd, size)


def write_at(fd: int, data: bytes, offset: int) -> None:
    with _at(fd, offset), os.fdopen(fd, "wb", closefd=False) as file:
        file.write(data)


class PrivateMemory(mmap.mmap):
    def __new__(cls, size: int) -> Self:
        return super().__new__(cls, -1, size)


def start_apart(command: list[str], *, inherited: object = (), **options: Any) -> subprocess.Popen[bytes]:
    assert not inherited
    return subprocess.Popen(command, **options)


def readiness(pipe: int, *, for_writing: bool = False) -> Callable[[float], bool]:
    return lambda seconds: True


def user() -> int:
    return Path(__file__).stat().st_uid


def _nothing(*_: object, **__: object) -> Any:
    return 0


sync = let_go = trim = give_blocks_back = at_fork = limit_memory = limit_cpu = _nothing
cores, end_apart = os.cpu_count, subprocess.Popen.kill
cpu_of, limit_of = lambda process: (0.0, False), lambda status: "" if status >= 0 else "outside"
