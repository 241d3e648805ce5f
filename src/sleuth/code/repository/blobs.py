"""Ids of contents as git computes them, and the content that a checkout converted."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress

_SHA256_DIGITS = 64
_IDENT = re.compile(rb"\$Id:[^$\n]*\$")


def object_id(content: bytes, like: str = "") -> str:
    """Return git's id of a blob with this content.

    Args:
        like: an id of the same repository: one of 64 digits asks for SHA-256.
    """
    digest = hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def blob_content(content: bytes, id: str) -> bytes | None:
    """Return the content of the blob `id`, given what a checkout made of it; None where it is another content.

    Undoes what git converts itself: line ends, `$Id$` and Unicode encodings. The id proves the outcome, so that no
    setting is read. What a filter program made cannot be undone without running the program.
    """
    for text in _as_utf8(content):
        lines = text.replace(b"\r\n", b"\n")
        forms = (text, lines, _IDENT.sub(b"$Id$", text), _IDENT.sub(b"$Id$", lines))
        for original in dict.fromkeys(forms):
            if object_id(original, id) == id:
                return original
    return None


def _as_utf8(content: bytes) -> Iterator[bytes]:
    """Yield the content, and its text in UTF-8 where it may be in another Unicode encoding."""
    yield content
    if b"\0" not in content:
        return
    encodings = ["utf-16-le", "utf-16-be"]
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encodings = ["utf-32"]
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encodings = ["utf-16"]
    for encoding in encodings:
        with suppress(UnicodeError):
            yield content.decode(encoding).encode()
