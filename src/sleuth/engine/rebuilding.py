"""Makes an index again in its place, where this version does not open it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sleuth.engine.engine import Engine
from sleuth.engine.index import IndexBackend
from sleuth.engine.opening import OpenOptions
from sleuth.ingest import file_of, is_file
from sleuth.ingest.run import is_named_by
from sleuth.protocols import Embedder
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.health.replacing import rebuilding, take_over
from sleuth.store.store import Store

_ROOT: Final = "root "
"""Begins the notes of format 2 with the options of a file or folder that was indexed by name."""


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
                notes = take_over(path, writer)
            if notes is not None:
                _note_files(backend.store, notes)
            yield engine


def _note_files(store: Store, notes: Mapping[str, str]) -> None:
    """Fill the table of files of an index of an earlier format, which had notes instead.

    Args:
        notes: those of folders that were indexed by name begin with `root `.
    """
    counts: Counter[str] = Counter()
    own_counts: Counter[str] = Counter()
    with store.writer() as writer, store.reader() as snapshot:
        for document in snapshot.documents():
            if is_file(document):
                counts[file_of(document)] += 1
                own_counts[file_of(document)] += not is_named_by(document.id, file_of(document))
        for name, count in counts.items():
            writer.note_file(name, documents=count, own_ids=own_counts[name])
        for note, options in notes.items():
            if note.startswith(_ROOT):
                writer.note_file(note.removeprefix(_ROOT), options=options)
