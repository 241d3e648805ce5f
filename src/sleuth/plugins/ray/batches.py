"""Batches of documents as bytes, on their way from readers to the builders of their shards."""

from __future__ import annotations

from typing import Any, Final

from sleuth.cluster.shards import decode, encode
from sleuth.store import DocumentBatch, Json, stored_json

_VALUES: Final = ("counts", "sources", "titles", "pages", "starts", "lines", "breaks")
_OBJECTS: Final = ("metadata", "fields", "own")
_DIGEST: Final = 16
"""Bytes of a content hash."""


def encode_batch(batch: DocumentBatch) -> bytes:
    """Return a batch as bytes."""
    columns: dict[str, Any] = {name: list(getattr(batch, name)) for name in ("ids", "texts", *_VALUES)}
    columns |= {name: [_text_of(value) for value in getattr(batch, name)] for name in _OBJECTS}
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


def _text_of(value: Json | None) -> str | None:
    return None if value is None else value.text
