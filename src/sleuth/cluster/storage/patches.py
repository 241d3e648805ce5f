"""Pages of a file that changes in place: hashes that find the changed ones, and patches that hold them."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import IO, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

PAGE: Final = 8192
"""Bytes of a page: those of a page of the record."""

_HASH: Final = 16
"""Bytes of the hash of a page."""

_HEAD: Final = 16
"""Bytes of a patch before the numbers of its pages."""


def page_hashes(data: bytes) -> bytes:
    """Return the hashes of the pages of some data, one after the other; the last page may be short."""
    view = memoryview(data)
    pages = (view[start : start + PAGE] for start in range(0, len(data), PAGE))
    return b"".join(blake2b(page, digest_size=_HASH).digest() for page in pages)


def changed_pages(before: bytes, now: bytes) -> NDArray[np.int64]:
    """Return the numbers of pages whose hash differs, new pages included.

    Args:
        before, now: as of `page_hashes`.
    """
    old_hashes, new_hashes = (
        np.frombuffer(hashes, np.uint64).reshape(-1, _HASH // 8) for hashes in (before, now)
    )
    common_count = min(len(old_hashes), len(new_hashes))
    is_same = np.zeros(len(new_hashes), bool)
    is_same[:common_count] = (old_hashes[:common_count] == new_hashes[:common_count]).all(axis=1)
    return np.flatnonzero(~is_same)


def encode_patch(file: BinaryIO, size: int, pages: Sequence[int]) -> bytes:
    """Return some pages of a file as a patch: its size, the number of pages, their numbers (all uint64), the pages."""
    head = np.array([size, len(pages), *pages], "<u8").tobytes()
    parts = [head]
    for page in pages:
        file.seek(page * PAGE)
        parts.append(file.read(min(PAGE, size - page * PAGE)).ljust(PAGE, b"\0"))
    return b"".join(parts)


def pages_of(patch: bytes) -> list[int]:
    """Return the numbers of the pages that a patch holds.

    Raises:
        ValueError: it is not as `encode_patch` writes it.
    """
    size, count = map(int, np.frombuffer(patch, "<u8", 2))
    pages = np.frombuffer(patch, "<u8", count, _HEAD)
    if len(patch) != _HEAD + count * (8 + PAGE) or (pages * PAGE >= size).any():
        raise ValueError("a patch must hold as many pages as it says, all within its file")
    return list(map(int, pages))


def apply_patch(patch: bytes, file: IO[bytes]) -> None:
    """Write the pages of a patch into a file, which then has the size that the patch says.

    Raises:
        ValueError: it is not as `encode_patch` writes it.
    """
    pages = pages_of(patch)
    start = _HEAD + 8 * len(pages)
    for place, page in enumerate(pages):
        file.seek(page * PAGE)
        file.write(patch[start + place * PAGE : start + (place + 1) * PAGE])
    file.truncate(int(np.frombuffer(patch, "<u8", 1)[0]))
