"""Tells which files of a worktree differ from a snapshot of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.repository.sources import DiskSource, source_at
from sleuth.code.snapshots.memory import read_times

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot


def changed_files(snapshot: Snapshot) -> list[str]:
    """Return the paths that are new, gone or different in the worktree, in order; relative to the repository.

    Files whose size and time are those of the last run are not read.

    Raises:
        ArgumentError: the worktree is gone.
        CodeError: git failed.
    """
    storage, repository = snapshot.storage, snapshot.repository
    source = source_at(repository.path)
    indexed = {row.path: row.hash for row in (*snapshot.files, *snapshot.skipped)}
    if isinstance(source, DiskSource):
        with storage.reading() as connection:
            source.remembered = read_times(connection, repository.id)
        source.known = set(indexed.items())
        source.without = storage.path.resolve()
    present = {file.path: file.hash or f"skip {file.skip}" for file in source.listing()[1]}
    return sorted({path for path, _ in indexed.items() ^ present.items()})
