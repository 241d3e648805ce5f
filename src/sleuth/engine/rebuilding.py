"""Makes an index again in its place, where this version does not open it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sleuth.engine.engine import Engine
from sleuth.engine.index import IndexBackend
from sleuth.engine.opening import OpenOptions
from sleuth.protocols import Embedder
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.health.replacing import rebuilding, take_over


@contextmanager
def rebuilt(  # waits for a writer as long as `Engine.add`
    path: str | Path, *, embedder: Embedder | str | None = None, re_embed: bool = False, timeout: float = 10.0
) -> Iterator[Engine]:
    """Provide an engine over a new index, which takes the place of the one at `path` after the block.

    It begins with all documents, metadata, vectors and remembered folders of the old one, and with its settings.
    `Engine.index` reads again the files that are still there. If the block raises, the old index stays as it is.

    Args:
        embedder, re_embed: as of `Engine.open`.
        timeout: seconds to wait for a writer of the old index.

    Raises:
        IndexNotFoundError: no index there.
        IndexDamagedError: its texts cannot be read.
        IndexLockedError, StoreError: another program writes into it, or has it open.
    """
    with rebuilding(path, timeout=timeout) as beside:
        backend = IndexBackend.open(beside, OpenOptions(embedder=embedder, re_embed=re_embed))
        backend.path = folder_at(path)  # files are named by it
        with Engine(backend) as engine:
            with backend.store.writer() as writer:
                take_over(path, writer)
            yield engine
