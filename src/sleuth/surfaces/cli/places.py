"""Finds the index of a command, and refuses one that somebody else may have made."""

from __future__ import annotations

import os
from pathlib import Path

from sleuth import platform
from sleuth.code.repository.tracked import may_be_tracked
from sleuth.errors import IndexUnsafeError

NAME = ".sleuth"


def index_folder(option: Path | None) -> Path:
    """Return the index folder of a command; it need not exist yet.

    Raises:
        IndexUnsafeError: it was not named, and somebody else may have made it.
    """
    if option is not None:
        return option
    if from_environment := os.environ.get("SLEUTH_INDEX"):
        return Path(from_environment)
    cwd = Path.cwd()
    folder = next((above / NAME for above in (cwd, *cwd.parents) if (above / NAME).is_dir()), None)
    if folder is None:
        return cwd / NAME
    check_origin(folder, f"to open it anyway, name it with --index {folder}")
    return folder


def check_origin(folder: Path, mend: str) -> None:
    """Refuse an index that the user did not name and that somebody else may have made.

    Args:
        mend: what to do about it, for the error.

    Raises:
        IndexUnsafeError: it is a link, of another user, or tracked by git; it was not opened.
    """
    owner = folder.stat().st_uid if folder.exists() else platform.user()
    reason = ""
    if folder.is_symlink():
        reason = "is a link"
    elif owner != platform.user():
        reason = f"belongs to user {owner}"
    elif folder.exists() and may_be_tracked(folder):
        reason = "is tracked by git"
    if reason:
        raise IndexUnsafeError(
            f"{folder} {reason}, so somebody else may have filled it: {mend}", path=str(folder)
        )
