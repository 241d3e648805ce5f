"""Lists the table of files of a shard, so that a build reads only those that have changed.

The hash of a name says where a list is cut, so one file changes one block.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from sleuth.errors import IndexDamagedError
from sleuth.store import KnownFile

_EVERY: Final = 1024
"""Entries in a block, on average."""

_MOST: Final = 1 << 26
"""Most bytes of a block, unpacked."""


def encode_listing(rows: Iterable[KnownFile]) -> Iterator[bytes]:
    """Yield the blocks of a listing."""
    block: list[str] = []
    for row in sorted(rows):
        block.append(json.dumps(row, ensure_ascii=True))
        digest = blake2b(row.name.encode("utf8", "surrogatepass"), digest_size=8).digest()
        if int.from_bytes(digest, "little") % _EVERY == 0:
            yield _packed(block)
            block = []
    if block:
        yield _packed(block)


def _packed(lines: Iterable[str]) -> bytes:
    return zlib.compress("\n".join(lines).encode("ascii"))


def decode_listing(block: bytes, where: str) -> Iterator[KnownFile]:
    """Yield the rows of a block.

    Raises:
        IndexDamagedError: it is not of `encode_listing`.
    """
    try:
        for line in zlib.decompressobj().decompress(block, _MOST).decode("ascii").splitlines():
            yield KnownFile(*json.loads(line))
    except (ValueError, TypeError, zlib.error) as error:
        raise IndexDamagedError(f"{where} lists no files: {error}; publish again", path=where) from error
