"""A mark beside the record that shows when acknowledged commits were lost.

SQLite forgets, without a word, the commits of a log that is damaged or gone. So the newest version is also noted in a
file of its own, after each commit and without a sync: after a power cut it may be older than the record, never newer.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from sleuth.errors import IndexUnsafeError
from sleuth.store.disk.files import DOCUMENTS, open_file, opened_file

NAME = DOCUMENTS.mark


def write(folder: Path, version: int) -> None:
    """Note that `version` is committed. A mark that cannot be written is an old one: harmless."""
    with suppress(OSError, IndexUnsafeError):
        fd = open_file(folder / NAME, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(fd, _text(version), 0)
        finally:
            os.close(fd)


def read(folder: Path) -> int | None:
    """Return the version noted last; 0 where none was; None where the mark is damaged.

    Read it before the record: a commit may come in between.
    """
    try:
        with opened_file(folder / NAME) as fd:
            text = os.pread(fd, 64, 0)
    except FileNotFoundError:
        return 0
    except OSError:
        return None
    version = text[:20]
    return int(version) if version.isdigit() and text == _text(int(version)) else None


def _text(version: int) -> bytes:
    digits = b"%020d" % version
    return b"%s %08x\n" % (digits, zlib.crc32(digits))
