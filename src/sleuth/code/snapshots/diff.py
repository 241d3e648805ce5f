"""Compares two snapshots, and a snapshot with its worktree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sleuth.code.parsing.names import grouped
from sleuth.code.repository.listing import Past, Recall
from sleuth.code.snapshots.lookup import source_of
from sleuth.code.snapshots.memory import read_times
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow


@dataclass(frozen=True, slots=True)
class SnapshotDiff(PlainValues):
    """Paths that differ, each list in order.

    Attributes:
        renamed: (old, new) pairs of one content whose old path is gone and whose new one was not there.
    """

    added: list[str]
    removed: list[str]
    changed: list[str]
    renamed: list[tuple[str, str]]


def compare(old: Snapshot, new: Snapshot) -> SnapshotDiff:
    """From one snapshot to another."""
    old_rows = {row.path: row for row in (*old.files, *old.skipped)}
    new_rows = {row.path: row for row in (*new.files, *new.skipped)}
    gone_paths = sorted(old_rows.keys() - new_rows.keys())
    new_paths = sorted(new_rows.keys() - old_rows.keys())
    read_paths = (path for path in gone_paths if not _is_unread(old_rows[path]))
    gone_by_hash = grouped(read_paths, lambda path: old_rows[path].hash)
    old_path_by_new: dict[str, str] = {}
    for path in new_paths:
        if same_content := gone_by_hash.get(new_rows[path].hash):
            old_path_by_new[path] = same_content.pop(0)
    changed_paths = []
    for path in sorted(old_rows.keys() & new_rows.keys()):
        old_row, new_row = old_rows[path], new_rows[path]
        # A link is read in a commit and not in a worktree: such versions are not known to differ.
        is_certain = old_row.skip != new_row.skip or _is_unread(old_row) == _is_unread(new_row)
        if is_certain and old_row.hash != new_row.hash:
            changed_paths.append(path)
    moved_paths = set(old_path_by_new.values())
    return SnapshotDiff(
        added=[path for path in new_paths if path not in old_path_by_new],
        removed=[path for path in gone_paths if path not in moved_paths],
        changed=changed_paths,
        renamed=[(old_path, path) for path, old_path in old_path_by_new.items()],
    )


def _is_unread(row: FileRow) -> bool:
    return row.hash.startswith(("skip ", "size-"))


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
    current_hashes = {file.path: file.hash or f"skip {file.skip}" for file in source.listing(past).files}
    return sorted({path for path, _ in indexed.items() ^ current_hashes.items() if snapshot.may_hold(path)})
