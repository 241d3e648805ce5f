"""What only POSIX systems have, under names of what its callers mean.

No other module uses such a thing, so another system needs another module with these names and no change elsewhere
(docs/decisions/platform.md).
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import subprocess

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK
"""Not blocking: opening a pipe would wait for its other end."""
_UNPLAIN: dict[int | None, str] = {
    errno.ELOOP: "a link",
    errno.ENXIO: "a pipe or a socket",
    errno.EISDIR: "a folder",
}
"""What cannot be opened as a plain file, by the error."""
_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
}
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Parameters of glibc's `mallopt`."""


# --- files


class UnplainError(OSError):
    """What was to be opened is a link, or of another kind than asked for; `strerror` says which, as "is a link"."""


def open_plain(
    path: str | bytes | Path, flags: int = os.O_RDONLY, *, follow: bool = False, within: int | None = None
) -> int:
    """Open a plain file, without waiting for the other end of a pipe; return the descriptor.

    Only this user may read a file that `flags` create.

    Args:
        follow: whether the last part of the path may be a link.
        within: the descriptor of the folder that the path begins at.

    Raises:
        UnplainError: a link or not a plain file.
        OSError: as of `os.open`.
    """
    try:
        fd = os.open(path, flags | (os.O_NONBLOCK if follow else _SAFE), 0o600, dir_fd=within)
    except OSError as error:
        if kind := _UNPLAIN.get(error.errno):
            raise UnplainError(error.errno, f"is {kind}") from error
        raise
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise UnplainError(errno.EINVAL, f"is {kind_of(mode)}")
    return fd


def kind_of(mode: int) -> str:
    """Return what something of this mode is, such as "a pipe"."""
    return _KINDS.get(stat.S_IFMT(mode), "a device")


class OpenFolder:
    """A folder that is open, below which files are reached: nobody can put a link in its place meanwhile.

    Raises:
        UnplainError: the last part of the path is a link or not a folder.
        OSError: as of `os.open`.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.lexists(path):
                raise UnplainError(error.errno, f"is {kind_of(path.lstat().st_mode)}") from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open a plain file in the folder, as `open_plain`."""
        return open_plain(name, flags, within=self._fd)

    def names(self) -> list[str]:
        """Return the names in the folder, in no order."""
        return os.listdir(self._fd)  # noqa: PTH208 - of a descriptor

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file in the folder; one that has the new name is replaced."""
        os.rename(name, new_name, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Remove a file from the folder; readers that have it open keep it."""
        os.unlink(name, dir_fd=self._fd)

    def sync(self) -> None:
        """Wait until the disk has the names in the folder."""
        os.fsync(self._fd)


def sync(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder; links are followed."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock(fd: int, *, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file against all who opened it by themselves; a lock that it has is exchanged for this one.

    The system ends the lock when the last descriptor of this opening is closed, also where its process is killed.

    Raises:
        BlockingIOError: not `wait`, and somebody else has a lock that excludes this one.
        OSError: the file system has no locks.
    """
    fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


def unlock(fd: int) -> None:
    """End the lock of an open file, also for a child that was forked with it."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def read_at(fd: int, size: int, offset: int) -> bytes:
    """Return up to `size` bytes of an open file from an offset; other threads may read it meanwhile."""
    return os.pread(fd, size, offset)


def write_at(fd: int, data: bytes, offset: int) -> None:
    """Write all bytes into an open file at an offset."""
    written = 0
    while written < len(data):
        written += os.pwrite(fd, data[written:], offset + written)


def user() -> int:
    """Return the user of this process, as `st_uid` of files names it."""
    return os.geteuid()


# --- memory


def let_go(mapped: mmap.mmap, start: int = 0, size: int | None = None) -> None:
    """Give back the memory of `size` bytes of a mapped file from a page's start; they are read again if asked for."""
    mapped.madvise(mmap.MADV_DONTNEED, start, len(mapped) - start if size is None else size)


def trim() -> None:
    """Give memory that was freed back to the system, where the C library keeps it otherwise (glibc)."""
    from ctypes import CDLL

    with suppress(AttributeError, OSError):
        CDLL(None).malloc_trim(0)


@cache
def give_blocks_back() -> None:
    """Have the C library (glibc) give blocks of 1 MB back to the system when they are freed, from now on.

    It keeps up to 64 MB of them for each thread otherwise, as soon as one block of 32 MB was freed.
    """
    from ctypes import CDLL

    with suppress(AttributeError, OSError):
        library = CDLL(None)
        for parameter in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            library.mallopt(parameter, 1 << 20)


# --- processes

_MOMENTS = "before", "after_in_parent", "after_in_child"
_AT_FORK: dict[str, dict[Any, weakref.ref[Any]]] = {moment: {} for moment in _MOMENTS}
"""Objects by their id and the method that is called, by moment."""


def at_fork(moment: str, call: Callable[[], object]) -> None:
    """Have a function, or a method while its object lives, called at one of `_MOMENTS` of each fork of this process."""
    owner, method = getattr(call, "__self__", call), getattr(call, "__func__", None)
    calls, key = _AT_FORK[moment], (id(owner), method)
    calls[key] = weakref.ref(owner, lambda _: calls.pop(key, None))


def _call_all(moment: str) -> None:
    for (_, method), reference in list(_AT_FORK[moment].items()):
        if (owner := reference()) is not None:
            method(owner) if method else owner()


os.register_at_fork(**{moment: partial(_call_all, moment) for moment in _MOMENTS})


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_apart(
    command: Sequence[str], *, inherited: Sequence[int] = (), **options: Any
) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own, so that Ctrl-C reaches only this process.

    Args:
        inherited: descriptors that it has under the same numbers.
        options: as of `subprocess.Popen`.
    """
    import subprocess

    return subprocess.Popen(list(command), pass_fds=inherited, start_new_session=True, **options)  # noqa: S603 - the command is the caller's own


def end_apart(process: subprocess.Popen[bytes]) -> None:
    """Kill a program that `start_apart` started, with all that it started."""
    import signal

    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def limit_of(status: int) -> str:
    """Return which limit ended a process, by its exit status.

    Returns:
        "time"; "memory", also where a C library aborted or read beyond memory that was refused; "outside" where others
        ended it; "" for anything else.
    """
    import signal

    kinds = {
        "time": (signal.SIGPROF,),
        "memory": (signal.SIGABRT, signal.SIGSEGV),
        "outside": (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT),
    }
    return next((kind for kind, signals in kinds.items() if -status in signals), "")


def cpu_of(process: int) -> tuple[float, bool]:
    """Return the CPU time that a process has used, and whether it runs or waits for a processor that others use.

    0 and no on a system that does not say.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0.0, False
    user_ticks, system_ticks = fields[11:13]  # fields 14 and 15 of proc(5)
    return (int(user_ticks) + int(system_ticks)) / os.sysconf("SC_CLK_TCK"), fields[0] == b"R"


def limit_cpu(seconds: float) -> float:
    """End this process after so much more CPU time, 0 for no limit; return the seconds left of the limit before."""
    import signal

    return signal.setitimer(signal.ITIMER_PROF, seconds)[0]  # its signal ends the process


def limit_memory(extra: int) -> None:
    """Let this process take so many bytes more than it has, and leave no core behind where that ends it.

    Nothing is limited on a system that does not say how much it has.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        limit = pages * resource.getpagesize() + extra
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def readiness(pipe: int, *, for_writing: bool = False) -> Callable[[float], bool]:
    """Return a function that waits up to some seconds for a pipe, and returns whether it can be read, or written to.

    A pipe for writing is set so that a write takes only what fits.
    """
    import select

    if for_writing:
        os.set_blocking(pipe, False)
    poll = select.poll()
    poll.register(pipe, select.POLLOUT if for_writing else select.POLLIN)
    return lambda seconds: bool(poll.poll(1000 * seconds))
