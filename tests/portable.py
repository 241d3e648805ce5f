"""The interface of `sleuth.platform` in what every system has, to see that no module needs more.

Locks are those of one process, and nothing limits a process.
"""

import errno
import mmap
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, Self

MODULES = set("fcntl grp posix pty pwd resource select syslog termios tty".split())  # noqa: SIM905
NAMES = set(
    """CDLL fchmod fchown fdatasync fork forkpty getegid geteuid getgid getgroups getpgid getpriority getsid getuid kill
    killpg lchown lockf madvise memfd_create mkfifo mknod nice O_CLOEXEC O_DIRECT O_DIRECTORY O_NOCTTY O_NOFOLLOW
    O_NONBLOCK O_SYNC pipe2 pidfd_open posix_fadvise posix_fallocate pread preadv pwrite pwritev readv register_at_fork
    sched_getaffinity sched_setaffinity sendfile set_blocking setgid setpgid setpriority setsid setuid statvfs fstatvfs
    sysconf tcgetpgrp ttyname uname wait3 wait4 waitid writev alarm setitimer getitimer pthread_kill pthread_sigmask
    sigwait SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU SIGVTALRM
    ITIMER_PROF ITIMER_REAL MAP_ANONYMOUS MAP_PRIVATE MAP_SHARED MADV_DONTNEED MADV_WILLNEED AF_UNIX
    SO_REUSEPORT""".split()  # noqa: SIM905
)
"""Names of `os`, `signal`, `mmap`, `socket` and `ctypes` that Windows lacks, or that mean nothing there."""
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


def try_index(path: str) -> None:
    """Make, search and update an index where POSIX is missing; print how many documents it finds, and their check."""
    for name in (
        "tempfile",
        "shutil",
        "asyncio",
        "multiprocessing",
        "concurrent.futures",
        "ssl",
        "numpy",
        "httpx",
    ):
        import_module(name)  # which use, while they are loaded, what goes now
    for module in (os, signal, mmap):
        for name in NAMES & vars(module).keys() - {"kill", "SIGKILL"}:  # these two serve `subprocess`
            delattr(module, name)
    for name in MODULES - {"posix", "select"}:
        sys.modules[name] = None  # type: ignore[assignment]
    sys.modules["sleuth.platform"] = sys.modules[__name__]
    from sleuth import Document, Engine

    with Engine.open(path, create=True, embedder="") as engine:
        engine.add([Document(f"The tide number {i} comes in.", id=f"d{i}") for i in range(300)])
        engine.add([Document("The harbour is closed.", id="d7")])
        engine.delete(["d8"])
        assert [hit.document_id for hit in engine.retrieve("harbour", k=3).items] == ["d7"]
    with Engine.open(path) as engine:
        assert engine.repairs == ()
        hits = engine.retrieve("tide", k=400).items
        print(len({hit.document_id for hit in hits}), {each.level for each in engine.check(full=True)})
