"""Builds arrays that are larger than memory, and releases the memory of mapped ones.

A merge makes arrays of hundreds of megabytes out of others. It appends them piece by piece to files without a name and
frees the pages that it has read, so that it takes the memory of a piece, for segments of any size.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sleuth import platform
from sleuth.store.disk.files import disk_failure, failing_disk

ROOM = 1 << 20
"""Bytes of an array that are held before it becomes a file."""
PIECE = 4 << 20
"""Bytes of a mapped array that are read before they are let go."""


class Scratch:
    """Where a merge puts its arrays: in files without a name in a folder, or in memory without a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def growing(self, dtype: DTypeLike) -> Growing:
        """Return an array to append to, empty."""
        return Growing(np.dtype(dtype), self._folder)

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of shape (n,) that is complete."""
        piece_list = self.growing(array.dtype)
        piece_list.append(array)
        return piece_list.array()


IN_MEMORY = Scratch()


class Growing:
    """An array of shape (n,) that is made piece by piece."""

    def __init__(self, dtype: np.dtype[Any], folder: Path | None) -> None:
        self._dtype = dtype
        self._folder = folder
        self._file: BinaryIO = BytesIO()
        self._size = 0

    def append(self, *arrays: NDArray[Any]) -> None:
        """Add the values of arrays at its end; where they are of a file, its memory is let go.

        Raises:
            StoreError: the disk is full or fails.
        """
        try:
            for values in arrays:
                data = np.ascontiguousarray(values, self._dtype).reshape(-1).view(np.uint8).data
                self._size += len(data)
                if self._folder and self._size > ROOM and isinstance(self._file, BytesIO):
                    from tempfile import TemporaryFile

                    file: BinaryIO = TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed when it is mapped, or with its array
                    file.write(self._file.getbuffer())
                    self._file = file
                # Less is not worth letting go.
                for part in pieces(data) if len(data) > mmap.PAGESIZE else (data,):
                    self._file.write(part)
        except OSError as error:
            raise disk_failure(self._folder, error) from error

    def array(self) -> NDArray[Any]:
        """Return all of it, in order; nothing can be added any more."""
        if not self._size:
            return np.zeros(0, self._dtype)
        if isinstance(self._file, BytesIO):
            return np.frombuffer(self._file.getbuffer(), self._dtype)
        with failing_disk(self._folder), self._file as file:
            file.flush()
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), self._dtype)


def bytes_of(array: NDArray[Any]) -> memoryview:
    """Return an array's bytes, uncopied where it is contiguous; also for dtypes without a buffer, as datetimes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def pieces(data: memoryview) -> Iterator[memoryview]:
    """Yield the bytes some at a time; where they are of a file, each piece is let go before the next.

    Only the piece: queries may read the rest, and each page that they lose costs them a page fault.
    """
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        yield piece
        if (file := _file_of(piece)) is not None:
            start = address(piece) - address(file)
            first = start // mmap.PAGESIZE * mmap.PAGESIZE
            platform.let_go(file, first, start + piece.nbytes - first)


def windows(values: NDArray[Any], shared: int = 0) -> Iterator[NDArray[Any]]:
    """Yield the values of an array some at a time; where they are of a file, its memory is let go in between.

    Args:
        shared: how many values each window repeats of the one before. None is left out: an array of that many values
            and fewer is one window.
    """
    step = max(1, PIECE // values.itemsize)
    for first in range(0, max(len(values) - shared, 1), step):
        yield values[first : first + step + shared]
        let_go(values)


def let_go(mapped: NDArray[Any] | memoryview | mmap.mmap) -> None:
    """Give back the memory of the file behind an array, if there is one; its bytes are read again if asked for."""
    if (file := _file_of(mapped)) is not None:
        platform.let_go(file)


def _file_of(mapped: NDArray[Any] | memoryview | mmap.mmap) -> mmap.mmap | None:
    """Return the mapped file that holds an array; None where it is in memory."""
    owner: object = mapped
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return owner if isinstance(owner, mmap.mmap) else None


def address(data: NDArray[Any] | bytes | memoryview | mmap.mmap) -> int:
    """Return where bytes begin in the memory of this process."""
    place: int = np.frombuffer(data, np.uint8).__array_interface__["data"][0]
    return place
