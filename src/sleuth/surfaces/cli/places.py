"""Finds the index that a command is about, and refuses one that came with somebody else's files."""

from __future__ import annotations

import os
from pathlib import Path

from sleuth.errors import IndexUnsafeError

NAME = ".sleuth"
_COMPRESSED = 4
"""From this version on, git's index does not spell every path out."""


def index_folder(option: Path | None) -> Path:
    """The index that a command is about; it need not exist yet.

    Raises:
        IndexUnsafeError: it was not named, and somebody else may have made it.
    """
    if option is not None:
        return option
    if from_environment := os.environ.get("SLEUTH_INDEX"):
        return Path(from_environment)
    folder = nearest_index(Path.cwd())
    if folder is None:
        return Path.cwd() / NAME
    check_origin(folder, f"to open it all the same, name it with --index {folder}")
    return folder


def check_origin(folder: Path, mend: str) -> None:
    """Refuse an index that nobody named, where it may be somebody else's.

    Args:
        mend: what to do about it, for the error.

    Raises:
        IndexUnsafeError: it is a link, of another user, or tracked by git; it was not opened.
    """
    if reason := _distrust(folder):
        raise IndexUnsafeError(
            f"{folder} {reason}, so somebody else may have filled it: {mend}", path=str(folder)
        )


def nearest_index(start: Path) -> Path | None:
    """The `.sleuth` folder in `start` or the nearest folder above that has one."""
    return next((above / NAME for above in (start, *start.parents) if (above / NAME).is_dir()), None)


def _distrust(folder: Path) -> str:
    """Why an index is not to be opened unless it is named; "" where nothing speaks against it."""
    if folder.is_symlink():
        return "is a link"
    if not folder.exists():
        return ""
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        return f"belongs to user {owner}"
    return "is tracked by git" if _is_tracked(folder) else ""


def _is_tracked(folder: Path) -> bool:
    """Whether git tracks a file in a folder; asks git only where its index names such a folder at all."""
    home = next((above for above in folder.parents if os.path.lexists(above / ".git")), None)
    if home is None:
        return False
    git = home / ".git"
    try:
        listed = (git / "index").read_bytes()
    except FileNotFoundError:
        return False  # nothing was ever added
    except OSError:  # of a worktree or a submodule, `.git` is a file
        return _git_lists(home, folder.relative_to(home))
    whole = int.from_bytes(listed[4:8]) < _COMPRESSED and not any(git.glob("sharedindex.*"))
    return not (whole and NAME.encode() not in listed) and _git_lists(home, folder.relative_to(home))


def _git_lists(home: Path, path: Path) -> bool:
    """Whether git tracks a path or something below it; taken for so where git cannot be asked."""
    from sleuth.code.repository import tracks
    from sleuth.errors import CodeError

    try:
        return tracks(home, str(path))
    except CodeError:
        return True
