"""The folders of a user, which need not exist, and may be out of reach."""

from __future__ import annotations

import os
from pathlib import Path


def user_folder(variable: str, default: str) -> Path:
    """Return the folder `sleuth` in the one that a variable of the XDG specification names.

    Look into it with `os.path.isfile` and `os.path.isdir`: a home that may not be entered (a service with
    `ProtectHome`, a container of another user) is as if the file were missing, where a `Path` raises.

    Args:
        default: in the home folder, where the variable is unset. A user without a home has the root folder.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - `Path.home` raises for a user without a home
    base = os.environ.get(variable) or os.path.join("/" if home == "~" else home, default)  # noqa: PTH118
    return Path(base) / "sleuth"
