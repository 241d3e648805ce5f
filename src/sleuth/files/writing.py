"""Writes a file as a whole: its name always has the old content or the complete new content."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sleuth import platform


@contextmanager
def whole_file(path: Path, *, mode: int = 0o600, durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for writing under a temporary name; it is renamed at the end, or removed if the block fails.

    Args:
        mode: its permissions.
        durable: whether to wait until the disk has it.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
            partial.chmod(mode)  # whatever the umask is
            yield out
            out.flush()
            if durable:
                os.fsync(out.fileno())
        partial.replace(path)
        if durable:
            platform.sync(path.parent)
    finally:
        partial.unlink(missing_ok=True)
