"""Lists the files that the documents of a shard came from, so that a build reads only those that have changed.

Notes of the shard are listed too. The hash of a name says where a list is cut, so one file changes one block.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from sleuth.errors import IndexDamagedError

_EVERY: Final = 1024
"""Entries in a block, on average."""

_MOST: Final = 1 << 26
"""Most bytes of a block, unpacked."""


class ListedFile(NamedTuple):
    """A file of which a shard holds documents.

    Attributes:
        source: its name.
        size: in bytes.
        modified_ns: time of the file, in ns; None where another shard holds its last document.
        documents: how many the shard holds.
    """

    source: str
    size: int
    modified_ns: int | None
    documents: int


class ListedNote(NamedTuple):
    """A note of a shard; see `Writer.note`."""

    name: str
    value: str


def encode_listing(entries: Iterable[ListedFile | ListedNote]) -> Iterator[bytes]:
    """Yield the blocks of a listing."""
    block: list[str] = []
    for entry in sorted(entries, key=lambda each: (each[0], len(each))):
        block.append(json.dumps(entry, ensure_ascii=True))
        digest = blake2b(entry[0].encode("utf8", "surrogatepass"), digest_size=8).digest()
        if int.from_bytes(digest, "little") % _EVERY == 0:
            yield _packed(block)
            block = []
    if block:
        yield _packed(block)


def _packed(lines: Iterable[str]) -> bytes:
    return zlib.compress("\n".join(lines).encode("ascii"))


def decode_listing(block: bytes, where: str) -> Iterator[ListedFile | ListedNote]:
    """Yield the entries of a block.

    Raises:
        IndexDamagedError: it is not of `encode_listing`.
    """
    try:
        for line in zlib.decompressobj().decompress(block, _MOST).decode("ascii").splitlines():
            values = json.loads(line)
            yield ListedNote(*map(str, values)) if len(values) == 2 else ListedFile(*values)
    except (ValueError, TypeError, zlib.error) as error:
        raise IndexDamagedError(f"{where} lists no files: {error}; publish again", path=where) from error
