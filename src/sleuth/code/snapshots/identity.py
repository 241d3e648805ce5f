"""A note beside the code database that tells whether it is this index's, and whether it is the newest one."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sleuth.code.snapshots.record import CODE_SCHEMA
from sleuth.errors import IndexDamagedError, IndexUnsafeError
from sleuth.store import open_file, opened_file

_NAME = CODE_SCHEMA.names.mark
_MOST = 10_000_000
"""Bytes that are read."""


class Holdings(NamedTuple):
    """What a database holds.

    Attributes:
        repositories: their ids.
        newest: serial of the newest completed snapshot; 0 for none.
    """

    repositories: Collection[str]
    newest: int


def note(folder: Path, holdings: Holdings) -> None:
    """Note what was committed. A note that cannot be written is an old one: harmless."""
    text = "\n".join([str(holdings.newest), *sorted(holdings.repositories)]).encode()
    with suppress(OSError, IndexUnsafeError):
        fd = open_file(folder / _NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, b"%08x\n%s\n" % (zlib.crc32(text), text))
        finally:
            os.close(fd)


def lost(folder: Path, holdings: Holdings) -> str:
    """Return what a database has lost of what was noted; "" for nothing.

    Raises:
        IndexDamagedError: it has none of the noted repositories: it is the database of another index.
    """
    noted = _noted(folder)
    if (
        noted.repositories
        and holdings.repositories
        and set(noted.repositories).isdisjoint(holdings.repositories)
    ):
        raise IndexDamagedError(
            f"{folder / CODE_SCHEMA.names.record} is of another index than the file {_NAME} beside it: restore both "
            f"from one copy, or, if the database is the right one, remove the file {_NAME}",
            path=str(folder),
        )
    if noted.newest <= holdings.newest:
        return ""
    return "snapshots that were indexed last are lost: `sleuth code index` indexes them again"


def _noted(folder: Path) -> Holdings:
    """Return what was noted last; nothing where the note is damaged or missing."""
    try:
        with opened_file(folder / _NAME) as fd:
            checksum, _, text = os.read(fd, _MOST).partition(b"\n")
    except OSError:
        return Holdings((), 0)
    text = text.removesuffix(b"\n")
    if checksum != b"%08x" % zlib.crc32(text):
        return Holdings((), 0)
    newest, *repositories = text.decode().split("\n")
    return Holdings(repositories, int(newest))
