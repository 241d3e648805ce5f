"""Opens the parts of an index folder without following links, and refuses parts that somebody else may have placed.

An index folder can come with a cloned repository or an archive. A link in it would let Sleuth write, truncate or delete
files outside, so every part is opened by its own name: a link, a device or a file of another user is an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from sleuth import platform
from sleuth.errors import IndexUnsafeError, StoreError

FOLDER_MODE = 0o700
"""Mode of folders that Sleuth makes: only their owner may read the texts of documents."""

_LOGS = ("", "-wal", "-shm", "-journal")
"""SQLite opens these files beside a database."""


class Names(NamedTuple):
    """What the parts of one database of an index folder are called."""

    record: str
    segments: str
    lock: str
    queue: str
    mark: str


DOCUMENTS = Names("record.sqlite", "segments", "writer.lock", "writer.queue", "version")
CODE = Names("code.db", "code", "code.lock", "code.queue", "code.version")


def check_parts(folder: Path) -> None:
    """Look at every part of an index folder, whichever is about to be used.

    Raises:
        IndexUnsafeError: a part is a link, is not a plain file or folder, or belongs to somebody else.
        StoreError: the folder cannot be looked into.
    """
    owners = _owners(folder)
    for names in (DOCUMENTS, CODE):
        for name in (names.lock, names.queue, names.mark):
            _check(folder / name, stat.S_ISREG, owners)
        _check(folder / names.segments, stat.S_ISDIR, owners)
        for ending in _LOGS:
            _check(folder / f"{names.record}{ending}", stat.S_ISREG, owners)


def check_database(path: Path) -> None:
    """Look at a database and the files that SQLite opens beside it: SQLite itself would follow links.

    Raises:
        IndexUnsafeError, StoreError: as `check_parts`.
    """
    owners = _owners(path.parent)
    for ending in _LOGS:
        _check(path.with_name(f"{path.name}{ending}"), stat.S_ISREG, owners)


def _owners(folder: Path) -> set[int]:
    """Users whose files are trusted in a folder: this one, the one who made the folder, and root."""
    status = _status(folder, follow=True)
    return {platform.user(), 0} | ({status.st_uid} if status else set())


def _status(path: Path, *, follow: bool = False) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=follow)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        mend = "; open it as a user who may read it" if isinstance(error, PermissionError) else ""
        index = path if follow else path.parent  # a link is followed for the folder of the index alone
        raise StoreError(f"cannot look into {index}: {error.strerror}{mend}", path=str(index)) from error


def _check(path: Path, is_kind: Callable[[int], bool], owners: set[int]) -> None:
    status = _status(path)
    if status is None:
        return
    if not is_kind(status.st_mode):
        raise _unsafe(path, f"is {platform.kind_of(status.st_mode)}")
    if status.st_uid not in owners:
        raise _unsafe(path, f"belongs to user {status.st_uid}, who did not make the index")


def _unsafe(path: Path, reason: str) -> IndexUnsafeError:
    inner = path.parent.name in (DOCUMENTS.segments, CODE.segments)
    index = path.parent.parent if inner else path.parent
    return IndexUnsafeError(
        f"{path} {reason}: it may lead to files outside of the index, so nothing was opened. "
        f"If you did not place it there, remove the index {index} and index the documents again",
        path=str(index),
        part=path.name,
    )


def open_file(path: Path, flags: int, *, within: platform.OpenFolder | None = None) -> int:
    """Open a plain file, which only this user may read where `flags` create it; the descriptor.

    Args:
        within: its folder, as `opened_folder` gives it: so no folder in the path is a link.

    Raises:
        IndexUnsafeError: a link, or not a plain file.
        OSError: as `os.open`.
    """
    try:
        return platform.open_plain(path, flags) if within is None else within.open(path.name, flags)
    except platform.UnplainError as error:
        raise _unsafe(path, str(error.strerror)) from error


@contextmanager
def failing_disk(path: Path | None) -> Iterator[None]:
    """Raise errors of the file system as Sleuth errors."""
    try:
        yield
    except OSError as error:
        raise disk_failure(path, error) from error


def disk_failure(path: Path | None, error: OSError) -> StoreError:
    """Return the Sleuth error for an error of the file system in an index folder."""
    return StoreError(f"cannot write into {path}: {error.strerror}", path=str(path))


@contextmanager
def opened_file(path: Path, within: platform.OpenFolder | None = None) -> Iterator[int]:
    """Provide a descriptor for reading a plain file, for the length of a block; as `open_file`."""
    fd = open_file(path, os.O_RDONLY, within=within)
    try:
        yield fd
    finally:
        os.close(fd)


def make_database(path: Path) -> None:
    """Make a missing database, empty, that only this user may read: SQLite would let everybody read it.

    One that is there is not opened: closing it would release the locks that SQLite holds on it in this process.
    """
    with suppress(FileExistsError):
        os.close(open_file(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def opened_folder(path: Path) -> platform.OpenFolder:
    """Open a folder, for the length of a block.

    Raises:
        IndexUnsafeError: a link.
        OSError: as `os.open`.
    """
    try:
        return platform.OpenFolder(path)
    except platform.UnplainError as error:
        raise _unsafe(path, str(error.strerror)) from error


def make_index(path: Path) -> None:
    """Make an index folder, which tells git to leave it out; one that is there stays as it is."""
    if path.is_dir():
        return
    make_folder(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with suppress(FileExistsError), os.fdopen(open_file(path / ".gitignore", flags), "wb") as file:
        file.write(b"*\n")


def make_folder(path: Path) -> None:
    """Make a folder that only this user may look into, and the folders above it; one that is there stays as it is."""
    path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)


def log_bytes(file: Path) -> int:
    """Return the size of the log of the database `file`: what is committed and not yet copied into it."""
    try:
        return file.with_name(f"{file.name}-wal").stat().st_size
    except OSError:
        return 0
