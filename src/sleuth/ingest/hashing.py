"""Has the content of a document changed?"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, Final

from sleuth.errors import ArgumentError
from sleuth.types import Document

VOLATILE: Final = frozenset({"modified", "size", "content_hash"})
"""Metadata that may differ between two readings of one content. A row keeps them as of when it last changed."""

_NO_METADATA: Final = b"\0{}"
"""What is hashed of an empty mapping: most documents of a bulk load."""


def content_hash(document: Document) -> str:
    """BLAKE2b of 128 bits over text and metadata, 32 hex digits.

    Equal for equal text and equal metadata, whatever the order of keys; keys in `VOLATILE` do not count, nor does
    the id. Metadata that JSON cannot hold counts by its `str`.

    Raises:
        ArgumentError: metadata that hold themselves, or are nested too deeply, or whose names are not strings.
    """
    digest = blake2b(document.page_content.encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(_tail(document))
    return digest.hexdigest()


def _tail(document: Document) -> bytes:
    """What is hashed after the text."""
    if not document.metadata:
        return _NO_METADATA
    kept = {key: value for key, value in document.metadata.items() if key not in VOLATILE}
    return b"\0" + _canonical(kept).encode("utf-8", "surrogatepass")


def _canonical(metadata: dict[str, Any]) -> str:
    try:
        "".join(
            metadata
        )  # the fastest way to see that all keys are strings: JSON would make strings of numbers
        return json.dumps(metadata, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"metadata must be JSON values under names that are strings ({error})") from error
