"""Encodes what builders and readers hand on: batches of documents, and the table of files of a shard.

A build reads only files that have changed since the table was listed. The hash of a name says where a list is cut, so
one file changes one block.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final

from sleuth.cluster.shards import decode, encode
from sleuth.errors import IndexDamagedError
from sleuth.store import DocumentBatch, KnownFile, stored_json

_VALUES: Final = ("counts", "sources", "titles", "pages", "starts", "lines", "breaks")
_OBJECTS: Final = ("metadata", "fields", "own")
_DIGEST: Final = 16
"""Bytes of a content hash."""
_EVERY: Final = 1024
"""Entries in a block, on average."""
_MOST: Final = 1 << 26
"""Most bytes of a block, unpacked."""


def encode_batch(batch: DocumentBatch) -> bytes:
    """Return a batch as bytes."""
    columns: dict[str, Any] = {name: list(getattr(batch, name)) for name in ("ids", "texts", *_VALUES)}
    columns |= {
        name: [None if value is None else value.text for value in getattr(batch, name)] for name in _OBJECTS
    }
    return encode((columns, b"".join(batch.digests)))


def decode_batch(data: bytes) -> DocumentBatch:
    """Return the batch that `encode_batch` was given."""
    columns, digests = decode(data)
    batch = DocumentBatch()
    for name in ("ids", "texts", *_VALUES):
        getattr(batch, name).extend(columns[name])
    for name in _OBJECTS:
        getattr(batch, name).extend(map(stored_json, columns[name]))
    batch.digests = [digests[start : start + _DIGEST] for start in range(0, len(digests), _DIGEST)]
    batch.characters = sum(map(len, batch.texts))
    return batch


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
