"""Opens documents that are zip archives, within a limit of their unpacked size. Nothing is unpacked to disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from sleuth.ingest.extraction import ExtractionError

_ENCRYPTED: Final = 1


def _check(members: Sequence[zipfile.ZipInfo], limit: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if unpacked > limit:
        raise ExtractionError(f"unpacks to {unpacked:,} bytes, over the limit of {limit:,}", limit=True)
    if any(member.flag_bits & _ENCRYPTED for member in members):
        raise ExtractionError("protected by a password")


@contextmanager
def opened_zip(data: bytes, limit: int, kind: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive; errors of reading it inside the block become ExtractionError.

    Args:
        data: the archive.
        limit: most bytes that all its members unpack to. A member gives no more bytes than its header states.
        kind: for the reason.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            _check(archive.infolist(), limit)
            yield archive
    except (ExtractionError, MemoryError, RecursionError):
        raise
    except Exception as error:  # zipfile, mammoth and python-pptx document none: a damaged file may raise any
        raise ExtractionError(f"not readable as {kind}: {error!r}") from error
