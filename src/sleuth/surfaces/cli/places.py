"""Finds the index of a command, and refuses one that somebody else may have made."""

from __future__ import annotations

import os
from pathlib import Path

from sleuth import platform
from sleuth.errors import IndexUnsafeError

NAME = ".sleuth"
_COMPRESSED = 4
"""First version of git's index that does not contain every path in full."""


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
    elif folder.exists() and _is_tracked(folder):
        reason = "is tracked by git"
    if reason:
        raise IndexUnsafeError(
            f"{folder} {reason}, so somebody else may have filled it: {mend}", path=str(folder)
        )


def _is_tracked(folder: Path) -> bool:
    """Return whether git tracks a file in a folder; True if git fails.

    Reads git's index itself first: if it holds all paths in full and the folder's name is not in it, git need not run.
    """
    home = next((above for above in folder.parents if os.path.lexists(above / ".git")), None)
    if home is None:
        return False
    git = home / ".git"
    try:
        index_bytes = (git / "index").read_bytes()
        version = int.from_bytes(index_bytes[4:8])
        has_full_paths = version < _COMPRESSED and not any(git.glob("sharedindex.*"))
        if has_full_paths and folder.name.encode() not in index_bytes:
            return False
    except FileNotFoundError:
        return False  # nothing was ever added
    except OSError:  # of a worktree or a submodule, `.git` is a file
        pass
    from sleuth.code.repository.git import tracks
    from sleuth.errors import CodeError

    try:
        return tracks(home, str(folder.relative_to(home)))
    except CodeError:
        return True
