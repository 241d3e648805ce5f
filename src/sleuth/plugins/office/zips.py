"""Opens documents that are zip archives, within a limit of their unpacked size. Nothing is unpacked to disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from sleuth.ingest.extraction import ExtractionError

_ERRORS: Final = (
    zipfile.BadZipFile,
    ValueError,
    NotImplementedError,
    OSError,
    EOFError,
    KeyError,
    RuntimeError,
)
"""What zipfile raises for damaged archives; zlib's errors are caught apart, by name."""
_ENCRYPTED: Final = 1


@contextmanager
def opened_zip(data: bytes, limit: int, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive; errors of reading it inside the block become ExtractionError.

    Args:
        data: the archive.
        limit: most bytes that all its members unpack to. A member gives no more bytes than its header states.
        kind: for the reason.
    """
    import zlib

    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > limit:
                raise ExtractionError(
                    f"unpacks to {unpacked:,} bytes, over the limit of {limit:,}", limit=True
                )
            if any(member.flag_bits & _ENCRYPTED for member in members):
                raise ExtractionError("protected by a password")
            yield archive
    except (*_ERRORS, zlib.error) as error:
        raise ExtractionError(f"not readable as {kind}: {error}") from error
