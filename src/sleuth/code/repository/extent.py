"""Measures a folder before it is indexed unasked, and stops as soon as it is too large."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from sleuth.code.parsing.limits import MAX_BYTES
from sleuth.code.repository.sources import is_passed_over
from sleuth.files.tree import files_below

MOST_FILES: Final = 50_000
MOST_BYTES: Final = 500_000_000
"""Of all files that are small enough to be read."""
SECONDS: Final = 5.0  # of CPU time; a folder that takes longer to list is too large as well


class _TooSlowError(Exception):
    """The folder cannot be measured in time."""


def why_too_large(root: Path) -> str:
    """Return why a folder is too large to be indexed unasked; "" if it is not.

    Links are not followed, unreadable folders are skipped, and ignored files do not count.
    """
    deadline = time.thread_time() + SECONDS
    in_git = os.path.lexists(root / ".git")

    def passes_over(folder: str, name: str) -> bool:
        if time.thread_time() > deadline:
            raise _TooSlowError
        if in_git:
            return name == ".git" or os.path.lexists(f"{root}/{folder}{name}/.git")
        return is_passed_over(name)

    files = size = 0
    try:
        for path in files_below(root, passes_over):
            files += 1
            with suppress(OSError):  # a file that went away meanwhile
                length = os.lstat(os.fsencode(root) + b"/" + path).st_size
                size += length if length <= MAX_BYTES else 0
            if files > MOST_FILES:
                return f"it has more than {MOST_FILES:,} files"
            if size > MOST_BYTES:
                return f"its files have more than {MOST_BYTES // 1_000_000:,} MB"
    except _TooSlowError:
        return f"its files cannot be counted within {SECONDS:.0f} s of CPU time"
    return ""
