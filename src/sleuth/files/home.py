"""The folders of a user, which need not exist, and may be out of reach."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """Return the folder of the user; the root folder for a user without one, for whom `Path.home` raises."""
    home = os.path.expanduser("~")  # noqa: PTH111
    return Path("/" if home == "~" else home)


def user_folder(variable: str, default: str) -> Path:
    """Return the folder `sleuth` in the one that a variable of the XDG specification names.

    Look into it with `os.path.isfile` and `os.path.isdir`: a home that may not be entered (a service with
    `ProtectHome`, a container of another user) is as if the file were missing, where a `Path` raises.

    Args:
        default: in the home folder, where the variable is unset.
    """
    return Path(os.environ.get(variable) or home_folder() / default) / "sleuth"
