"""Where an index of this room can be: a folder that holds shards, or an address in object storage."""

from __future__ import annotations

import os
from pathlib import Path

SHARDS = "cluster.json"
"""In the folder of an index of several shards, the file that describes them."""

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")
"""Of addresses in object storage."""


def is_sharded(path: str | Path) -> bool:
    """Return whether an index of several shards is at a path."""
    try:
        return os.path.lexists(Path(path) / SHARDS)
    except TypeError:
        return False  # no path: refused where folders are opened


def address_of(path: str | Path) -> str | None:
    """Return the address in object storage that this is, such as `s3://bucket/name`; None for a folder.

    A `Path` that was made of an address has lost a slash, which is put back.
    """
    text = str(path)
    scheme, _, path_text = text.partition(":")
    scheme = scheme.lower()
    if scheme not in SCHEMES or not path_text.startswith("/"):
        return None
    if isinstance(path, str):
        return text if path_text.startswith("//") else None
    return f"{scheme}://{path_text if scheme == 'file' else path_text.lstrip('/')}"
