"""Tells which files of a worktree differ from a snapshot of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sleuth.code.repository.past import Past, Recall
from sleuth.code.snapshots.lookup import source_of
from sleuth.code.snapshots.memory import read_times

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot


def changed_files(snapshot: Snapshot) -> list[str]:
    """Return the paths that are new, gone or different in the worktree, in order; relative to the repository.

    Files whose size and time are those of the last run are not read.

    Raises:
        ArgumentError: the worktree is gone.
        CodeError: git failed, or the repository lies outside the folder of the index.
    """
    storage, repository = snapshot.storage, snapshot.repository
    source = source_of(storage, repository)
    indexed = {row.path: row.hash for row in (*snapshot.files, *snapshot.skipped)}
    with storage.reading() as connection:
        times = read_times(connection, repository.id)
    past = Past(Recall(), set(indexed.items()), times, storage.path.resolve())
    present = {file.path: file.hash or f"skip {file.skip}" for file in source.listing(past).files}
    return sorted({path for path, _ in indexed.items() ^ present.items() if snapshot.may_hold(path)})
