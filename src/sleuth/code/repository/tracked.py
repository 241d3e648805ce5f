"""Tells whether git tracks a folder, mostly without running git."""

from __future__ import annotations

import os
from pathlib import Path

_COMPRESSED = 4
"""First version of git's index that does not contain every path in full."""


def may_be_tracked(folder: Path) -> bool:
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
    from sleuth.code.repository.process import run
    from sleuth.errors import CodeError

    path = str(folder.relative_to(home))
    try:
        return bool(run(home, "--literal-pathspecs", "ls-files", "-z", "--", path))
    except CodeError:
        return True
