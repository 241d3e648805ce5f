"""The hash that finds equal texts."""

from __future__ import annotations

from hashlib import blake2b


def text_hash(text: str) -> str:
    """Return a hash of a text, 32 hex digits (BLAKE2b of its UTF-8)."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
