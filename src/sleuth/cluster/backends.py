"""The backends of this room: indexes of several shards, and published versions in object storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sleuth.cluster.places import address_of, is_sharded
from sleuth.engine.index import BackendKind

if TYPE_CHECKING:
    from pathlib import Path

    from sleuth.engine.index import Backend
    from sleuth.engine.opening import OpenOptions


def _open_published(path: str | Path, options: OpenOptions) -> Backend:
    from sleuth.cluster.published import published_backend

    return published_backend(path, options)


def _open_shards(path: str | Path, options: OpenOptions) -> Backend:
    from sleuth.cluster.sharded import ShardedBackend

    return ShardedBackend.open(path, options)


KINDS: Final = (
    BackendKind(lambda path: address_of(path) is not None, _open_published),
    BackendKind(is_sharded, _open_shards),
)
