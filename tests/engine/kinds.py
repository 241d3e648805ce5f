"""Kinds of an index, which answer alike."""

from pathlib import Path
from typing import Any

from sleuth import Engine
from sleuth.cluster import ShardedEngine

KINDS = ("one", "shards")


def new_index(kind: str, path: Path, **options: Any) -> Engine:
    """Create an index: a single one, or one of three shards."""
    if kind == "shards":
        return ShardedEngine.open(path, create=True, shards=3, **options)
    return Engine.open(path, create=True, **options)
