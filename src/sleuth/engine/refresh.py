"""Compares an index with the files it was made from, and indexes those that changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sleuth.code.snapshots.diff import changed_files as changed_code
from sleuth.ingest.diff import ChangedFiles
from sleuth.ingest.diff import changed_files as changed_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sleuth.code import Snapshot
    from sleuth.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between files and index.

    Attributes:
        documents: files that documents came from.
        code: by absolute path of the repository, paths relative to it.
    """

    documents: ChangedFiles = field(default_factory=lambda: ChangedFiles([], []))
    code: dict[str, list[str]] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """All of them, absolute, each once."""
        code = [f"{root}/{path}" for root, paths in self.code.items() for path in paths]
        return list(dict.fromkeys([*self.documents.modified, *self.documents.missing, *code]))


def changes_of(engine: Engine | None, snapshots: Sequence[Snapshot]) -> Changes:
    """Return what differs between files and index; files that are new in a folder of documents are not noticed.

    Raises:
        CodeError: git failed.
    """
    documents = ChangedFiles([], [])
    if engine is not None:
        with engine.store.reader() as snapshot:
            documents = changed_documents(snapshot, engine.files)
    return Changes(documents, {s.repository.path: changed_code(s) for s in snapshots})


def index_changes(engine: Engine | None, snapshots: Sequence[Snapshot], changes: Changes) -> None:
    """Index what changed, without waiting for another writer. Files are read with the options of their root.

    Raises:
        IndexLockedError: another process indexes now.
    """
    from sleuth.code import CodeStorage, index_path

    if engine is not None:
        paths = [*changes.documents.modified, *changes.documents.missing]
        if paths:
            engine.index(paths, prune=True, timeout=0.0)
    for snapshot_of_code in snapshots:
        storage, path = snapshot_of_code.storage, snapshot_of_code.repository.path
        if changes.code.get(path) and isinstance(storage, CodeStorage):
            index_path(storage, path, timeout=0.0, vectors=False)
