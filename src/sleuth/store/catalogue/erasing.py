"""Overwrites the texts of deleted rows in segments of passages."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sleuth import platform
from sleuth.errors import IndexDamagedError, IndexUnsafeError
from sleuth.store.catalogue import segments
from sleuth.store.catalogue.segment_files import SUFFIX
from sleuth.store.catalogue.segments import Opened
from sleuth.store.disk.files import open_file, opened_folder
from sleuth.store.disk.scratch import address
from sleuth.store.passages.kind import OFFSETS, PASSAGES, RECORDS
from sleuth.store.record.layout import Connection

_ZEROS = bytes(1 << 20)


def erase_inline(connection: Connection, dead: NDArray[np.int64]) -> None:
    """Overwrite rows in segments that the manifest holds, in the open transaction.

    Args:
        dead: keys, shape (n,).
    """
    if not len(dead):
        return
    rows = connection.execute(
        "SELECT name, checksum, inline FROM segments WHERE leg = ? AND inline IS NOT NULL AND last >= ? AND first <= ?",
        (PASSAGES.name, int(dead.min()), int(dead.max())),
    ).fetchall()
    for name, checksum, inline in rows:
        with suppress(IndexDamagedError):  # nobody can read its rows, and a repair drops it
            segment = segments.decode(name, inline, checksum)
            places = np.flatnonzero(np.isin(segment.keys, dead))
            if len(places) and not segments.verify(segment):
                changed = bytearray(inline)
                for start, end in _ranges(segment, inline, places):
                    changed[start:end] = bytes(end - start)
                connection.execute("UPDATE segments SET inline = ? WHERE name = ?", (bytes(changed), name))


def erase(folder: Path, segment: Opened, places: NDArray[np.int64]) -> bool:
    """Overwrite rows in the file of a segment; nobody reads a version that has them. Returns whether that is done.

    Args:
        places: of the rows, ascending, shape (n,).

    Raises:
        OSError: the disk fails.
    """
    if segment.file is None or segments.verify(segment):  # a repair writes a damaged one again
        return False
    path = folder / f"{segment.name}{SUFFIX}"
    try:
        with opened_folder(folder) as within:
            fd = open_file(path, os.O_RDWR, within=within)
    except (FileNotFoundError, IndexUnsafeError):  # merged away meanwhile
        return True
    try:
        status = os.fstat(fd)
        if segment.inode != (status.st_dev, status.st_ino):
            return True
        for at, end in _ranges(segment, segment.file, places):
            for start in range(at, end, len(_ZEROS)):
                platform.write_at(fd, _ZEROS[: end - start], start)
        os.fsync(fd)
    finally:
        os.close(fd)
    return True


def _ranges(segment: Opened, buffer: Any, places: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return where the records of rows are in the bytes of their segment, as half-open ranges."""
    offsets, records = segment.arrays[OFFSETS], segment.arrays[RECORDS]
    base = address(records) - address(buffer)
    runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    spans = [(int(offsets[run[0]]), int(offsets[run[-1] + 1])) for run in runs if len(run)]
    return [(base + start, base + end) for start, end in spans if start <= end <= len(records)]
