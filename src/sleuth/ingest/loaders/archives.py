"""Loaders of archives and compressed files: a document for each file inside. Nothing is unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import SEEK_END
from pathlib import PurePosixPath
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.ingest.loaders.file import FileBytes, Member, load_member, skipped_member
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_ERRORS: Final = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError,
)  # fmt: skip
_RATIO: Final = 300
"""Times that a member may be larger than packed; text is rarely 20 times as large, and logs 100 times."""
_SMALL: Final = 1 << 20
"""Bytes of a member whose ratio does not matter."""
_ENCRYPTED: Final = 1
_OPENERS: Final[dict[str, Callable[..., Any]]] = {"bz2": bz2.open, "xz": lzma.open}
_LEFT_OUT: Final = frozenset({"__MACOSX", ".git", ".hg", ".svn"})


def load_zip(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of all members, in the order of the archive.

    Raises:
        LoadError: it is damaged, or exceeds a limit.
    """
    try:
        with zipfile.ZipFile(file.stream) as archive:
            for info in archive.infolist():
                if info.is_dir() or _is_left_out(info.filename, options):
                    continue
                ratio = info.file_size // max(info.compress_size, 1)
                reason = ""
                if info.flag_bits & _ENCRYPTED:
                    reason = "protected by a password"
                elif info.file_size > _SMALL and info.file_size > _RATIO * max(info.compress_size, 1):
                    reason = f"unpacks to {ratio:,} times its size"
                elif info.file_size > file.room.bytes:
                    reason = f"{info.file_size:,} bytes, more than the archive may unpack to"
                if reason:
                    yield skipped_member(file, info.filename, reason)
                    continue
                modified = 0
                with suppress(ValueError, OverflowError):
                    modified = int(time.mktime((*info.date_time, 0, 0, -1))) * 1_000_000_000
                try:
                    data = archive.read(info)
                except _ERRORS as error:
                    yield skipped_member(file, info.filename, f"damaged: {error}")
                    continue
                yield from load_member(file, Member(info.filename, data, modified), options)
    except _ERRORS as error:
        raise LoadError(file.entry.source, f"not readable as zip: {error}") from error


def load_tar(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of all regular files of a tar archive, compressed or not, in the order of the archive.

    Raises:
        LoadError: it is damaged, or exceeds a limit.
    """
    try:
        with tarfile.open(fileobj=file.stream, mode="r|*") as archive:
            for info in archive:
                if not info.isreg() or _is_left_out(info.name, options):
                    continue
                if info.size > (room := file.room.bytes):
                    reason = f"unpacks to {info.size:,} bytes, and {room:,} are left of its limit"
                    raise LoadError(file.entry.source, reason, kind="limits")
                content = archive.extractfile(info)
                data = content.read() if content is not None else b""
                yield from load_member(
                    file, Member(info.name, data, int(info.mtime) * 1_000_000_000), options
                )
    except _ERRORS as error:
        raise LoadError(file.entry.source, f"not readable as tar: {error}") from error


def load_compressed(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of the one file inside, which is named as this one without its last extension.

    Raises:
        LoadError: it is damaged, or exceeds a limit.
    """
    name = PurePosixPath(file.entry.source.split("#")[-1])
    if name.stem.endswith(".tar"):
        yield from load_tar(file, options)
        return
    try:
        data = _unpacked(file, file.room.bytes + 1)
    except LoadError:
        raise
    except _ERRORS as error:
        raise LoadError(file.entry.source, f"not readable as {name.suffix[1:]}: {error}") from error
    yield from load_member(file, Member(name.stem, data, file.entry.modified_ns or 0), options)


def _unpacked(file: FileBytes, most: int) -> bytes:
    """Return at most so many bytes of a compressed file; a piece at a time, so that a bomb takes no memory.

    Raises:
        LoadError: it unpacks to more than `_RATIO` times its size.
    """
    packed = file.stream.seek(0, SEEK_END)
    file.stream.seek(0)
    pieces: list[bytes] = []
    size = 0
    with _OPENERS.get(file.entry.source.rpartition(".")[2], gzip.open)(file.stream) as stream:
        while size < most and (piece := stream.read(min(_SMALL, most - size))):
            pieces.append(piece)
            size += len(piece)
            if size > _SMALL and size > _RATIO * packed:
                reason = f"unpacks to more than {_RATIO} times its size"
                raise LoadError(file.entry.source, reason, kind="limits")
    return b"".join(pieces)


def _is_left_out(name: str, options: ReadOptions) -> bool:
    parts = PurePosixPath(name).parts
    return any(
        part in _LEFT_OUT or (part[0] == "." and not options.hidden)
        for part in parts
        if part not in (".", "..")
    )
