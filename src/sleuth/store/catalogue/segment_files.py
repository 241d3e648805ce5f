"""Segment files in their folder: written under a lock, mapped, and removed only where they are Sleuth's own."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from weakref import finalize

from sleuth import platform
from sleuth.errors import IndexDamagedError, IndexUnsafeError, StoreError
from sleuth.store.catalogue.segments import MAGIC, Opened, decode, is_name
from sleuth.store.disk.files import open_file, opened_file, opened_folder

SUFFIX = ".seg"
TEMPORARY = ".tmp"


def read(folder: Path, name: str, size: int, checksum: int, *, most_rows: Callable[[], int] = int) -> Opened:
    """Map a segment file of the folder; `most_rows` as of `decode`.

    Raises:
        FileNotFoundError: it is not there.
        IndexDamagedError: it is not as it was written, as far as its size and header tell.
        IndexUnsafeError: it is a link, or its folder is.
    """
    path = folder / f"{name}{SUFFIX}"
    with opened_folder(folder) as within, opened_file(path, within) as fd:
        status = os.fstat(fd)
        length = status.st_size
        if length != size or not length:
            raise IndexDamagedError(f"{path}: {length} bytes where {size} were written", path=str(path))
        mapped = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        segment = decode(name, mapped, checksum, most_rows=most_rows)
        return segment._replace(inode=(status.st_dev, status.st_ino))


def stay_open(folder: Path, segment: Opened) -> int:
    """Return a descriptor of a segment's file, which is closed with its mapping; -1 where it cannot be opened."""
    with suppress(OSError, IndexUnsafeError), opened_folder(folder) as within:
        fd = open_file(folder / f"{segment.name}{SUFFIX}", os.O_RDONLY, within=within)
        finalize(segment.file, os.close, fd).atexit = False  # queries of the last moment need it
        return fd
    return -1


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable.

    Raises:
        StoreError: the disk did not confirm it.
    """
    try:
        with opened_folder(folder) as within:
            within.sync()
    except OSError as error:
        raise StoreError(f"cannot sync {folder}: {error.strerror}", path=str(folder)) from error


def orphans(folder: Path, in_use: Collection[str]) -> list[Path]:
    """Files of the folder that no manifest names and nobody is writing, other people's files included."""
    with suppress(FileNotFoundError), opened_folder(folder) as within:
        unnamed = _unnamed(within, in_use)
        return [folder / name for name in unnamed if not _is_locked(folder / name, within)]
    return []


def is_ours(path: Path) -> bool:
    """Return whether a file has the name and the header of a segment, or of one that a crash cut off."""
    with (
        suppress(OSError, IndexUnsafeError),
        opened_folder(path.parent) as within,
        opened_file(path, within) as fd,
    ):
        return _is_ours(path.name, fd)
    return False


def sweep(folder: Path, in_use: Collection[str]) -> None:
    """Remove the segments that no manifest names and nobody is writing; whatever else is there is left alone."""
    with suppress(FileNotFoundError), opened_folder(folder) as within:
        for name in _unnamed(within, in_use):
            with suppress(OSError, IndexUnsafeError), opened_file(folder / name, within) as fd:
                platform.lock(fd, wait=False)  # until it is gone: who makes a file takes it first
                _remove_if_ours(name, fd, within)


def remove(folder: Path, name: str) -> None:
    """Remove the file of a segment that no manifest names any more; one that cannot be removed is swept later."""
    path = folder / f"{name}{SUFFIX}"
    with (
        suppress(OSError, IndexUnsafeError),
        opened_folder(folder) as within,
        opened_file(path, within) as fd,
    ):
        _remove_if_ours(path.name, fd, within)


def _unnamed(within: platform.OpenFolder, in_use: Collection[str]) -> list[str]:
    names = sorted(within.names())
    return [name for name in names if not name.endswith(SUFFIX) or name.removesuffix(SUFFIX) not in in_use]


def _is_locked(path: Path, within: platform.OpenFolder) -> bool:
    """Return whether somebody is writing a file, or it is gone meanwhile."""
    try:
        with opened_file(path, within) as fd:
            platform.lock(fd, wait=False)
    except OSError:
        return True
    except IndexUnsafeError:  # a folder or a link: nobody writes it
        return False
    return False


def _is_ours(name: str, fd: int) -> bool:
    """Return whether a file has the name of a segment, and begins as one does as far as it goes.

    A file that a power cut left may begin with zeros: its length was written, its first bytes were not.
    """
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - of a name
    if ending not in (SUFFIX, TEMPORARY) or not is_name(stem):
        return False
    start = platform.read_at(fd, len(MAGIC), 0)
    return MAGIC.startswith(start) or not any(start)


def _remove_if_ours(name: str, fd: int, within: platform.OpenFolder) -> None:
    if _is_ours(name, fd):
        within.remove(name)


def create_locked(path: Path, within: platform.OpenFolder) -> int:
    """Return a new file under a lock. A sweep may find it in between and remove it: then another one is made."""
    while True:
        fd = open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, within=within)
        try:
            platform.lock(fd)
            if os.fstat(fd).st_nlink:
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)
