"""Finds what opens an index that is more than one folder of this machine: shards, or object storage."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sleuth.engine.engine import Engine

SHARDS = "cluster.json"
"""In the folder of an index of several shards, the file that describes them."""

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")
"""Of addresses in object storage."""

_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/(/?)(?=[^/]|/)", re.IGNORECASE)


def address_of(path: str | Path) -> str | None:
    """Return the address in object storage that this is, such as `s3://bucket/name`; None for a folder.

    A `Path` that was made of an address has lost a slash, which is put back.
    """
    text = str(path)
    match = _ADDRESS.match(text)
    if match is None:
        return None
    if isinstance(path, str):
        return text if match[2] else None
    scheme, rest = match[1].lower(), text[match.end() :]
    return f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"


def opener_of(path: str | Path) -> Callable[..., Engine] | None:
    """Return what opens the index at this path; None where it is one folder of this machine.

    The room that knows both is above this one, so it is named here and imported when it is needed.
    """
    if (address := address_of(path)) is not None:
        published: Any = import_module("sleuth.cluster.published").open_published
        return lambda _, **options: published(address, **options)
    try:
        is_sharded = os.path.lexists(Path(path) / SHARDS)
    except TypeError:
        return None  # refused where folders are opened
    if is_sharded:
        return import_module("sleuth.cluster.engine").ShardedEngine.open  # type: ignore[no-any-return]
    return None
