"""Hashes of documents, to detect changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from sleuth.errors import ArgumentError
from sleuth.store.record.metadata import encode_values, joined, plain_values
from sleuth.types import Document

VOLATILE: Final = frozenset({"modified", "size", "content_hash"})
"""Metadata that may differ between two readings of one content. A row keeps the values of its last change."""

_NO_METADATA: Final = b"\0{}"
"""The bytes that are hashed for empty metadata, the commonest case in a bulk load."""
_LENIENT: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


def content_hash(document: Document) -> str:
    """Return BLAKE2b of 128 bits over text and metadata, 32 hex digits.

    Equal for equal text and equal metadata, whatever the order of keys; keys in `VOLATILE` do not count, nor does
    the id. Metadata that the index cannot keep counts by its `str`.

    Raises:
        ArgumentError: metadata that contain themselves, are nested too deeply, or have names that are not strings.
    """
    if not document.metadata:
        return hash_of(document.page_content)
    try:
        "".join(document.metadata)  # the fastest way to see that all keys are strings
        values = encode_values(plain_values(document.metadata), _LENIENT.encode)
        return hash_of(document.page_content, values)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"metadata must be JSON values under names that are strings ({error})") from error


def hash_of(text: str, values: Mapping[str, str] | None = None) -> str:
    """Return the hash of a text and of metadata as `encode_values` returns them."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    if values:
        canonical = joined({name: values[name] for name in sorted(values)}, left_out=VOLATILE)
        digest.update(b"\0" + canonical.encode("utf-8", "surrogatepass"))
    else:
        digest.update(_NO_METADATA)
    return digest.hexdigest()
