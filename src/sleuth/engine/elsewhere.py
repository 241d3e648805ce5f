"""Finds what opens an index that is more than one folder of this machine: shards, or object storage."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine

SHARDS = "cluster.json"
"""In the folder of an index of several shards, the file that describes them."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_address(path: object) -> bool:
    """Return whether this names an index in object storage, as `s3://bucket/name` does."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def opener_of(path: str | Path) -> Callable[..., Engine] | None:
    """Return what opens the index at this path; None where it is one folder of this machine.

    The room that knows both is above this one, so it is named here and imported when it is needed.
    """
    if is_address(path):
        opener: Any = import_module("sleuth.cluster.published").open_published
        return opener  # type: ignore[no-any-return]
    try:
        is_sharded = (Path(path) / SHARDS).is_file()
    except (TypeError, ValueError, OSError):
        return None  # refused where folders are opened
    if is_sharded:
        return import_module("sleuth.cluster.engine").ShardedEngine.open  # type: ignore[no-any-return]
    return None
