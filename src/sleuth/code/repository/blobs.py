"""Ids of contents as git computes them, and the content that a checkout converted."""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator

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
    return next((original for original in _originals(content) if object_id(original, id) == id), None)


def _originals(content: bytes) -> Iterator[bytes]:
    """Yield the contents that may have been converted to this one, the content itself first."""
    yield content
    for text in _as_utf8(content):
        if text is not content:
            yield text
        lines = text.replace(b"\r\n", b"\n")
        if lines != text:
            yield lines
        if b"$Id:" in text:
            yield _IDENT.sub(b"$Id$", text)
            yield _IDENT.sub(b"$Id$", lines)


def _as_utf8(content: bytes) -> Iterator[bytes]:
    """Yield the content, and its text in UTF-8 where it may be in another Unicode encoding."""
    yield content
    if b"\0" not in content:
        return
    marks = {codecs.BOM_UTF32_LE: ("utf-32",), codecs.BOM_UTF32_BE: ("utf-32",)}
    marks |= {codecs.BOM_UTF16_LE: ("utf-16",), codecs.BOM_UTF16_BE: ("utf-16",)}
    encodings = next(
        (names for mark, names in marks.items() if content.startswith(mark)), ("utf-16-le", "utf-16-be")
    )
    for encoding in encodings:
        try:
            yield content.decode(encoding).encode()
        except UnicodeError:
            continue
