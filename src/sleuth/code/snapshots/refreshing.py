"""The snapshot of a worktree's current files: a new one if few files changed, else the newest one and its gaps.

Also the history of a snapshot: missing commits are recorded, within a few seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from shlex import quote

from sleuth.code.repository.listing import Listed
from sleuth.code.repository.sources import source_at
from sleuth.code.snapshots.indexing import index_source, past_of
from sleuth.code.snapshots.lookup import check_place, newest_completed, source_of
from sleuth.code.snapshots.record import Repository, SnapshotInfo
from sleuth.code.snapshots.recording import RECENT, is_recorded, record_history
from sleuth.code.snapshots.snapshot import Snapshot
from sleuth.code.snapshots.storage import CodeStorage
from sleuth.errors import ArgumentError, CodeError, StoreError, UnknownSnapshotError, amount

MOST = 500
"""Files that are new to the index and still indexed before an answer: about a second."""
_PATIENCE = 1.0
"""Seconds to wait for another run that indexes, as long as indexing here takes."""


@dataclass(frozen=True, slots=True)
class Current:
    """The snapshot to answer from.

    Attributes:
        stale: files of the worktree that it lacks or has with another content, and files that are gone; 0 where it is
            what the worktree holds.
        reason: why those were not indexed, or why the worktree could not be read; "" where the snapshot is of now.
        indexed: files that were indexed now.
    """

    snapshot: SnapshotInfo
    stale: int = 0
    reason: str = ""
    indexed: int = 0

    def warning(self, repository: Repository) -> str:
        """Return in a line how the snapshot may differ from the worktree, and what mends it; "" where it does not."""
        if not self.reason:
            return ""
        remedy = f"run `sleuth code index {quote(repository.path)}`"
        if not self.stale:
            return f"{repository.path} cannot be compared with its snapshot ({self.reason}); {remedy}"
        files = "1 file differs" if self.stale == 1 else f"{self.stale:,} files differ"
        return f"{files} from snapshot {self.snapshot.id[:20]} ({self.reason}); {remedy}"


def current_snapshot(storage: CodeStorage, repository: Repository, *, most: int = MOST) -> Current:
    """Return the snapshot of the current files of the repository's folder; of a bare repository, of its HEAD.

    Args:
        most: index at most so many new files; 0 only looks.

    Raises:
        UnknownSnapshotError: nothing can be indexed now, and there is no completed snapshot.
    """
    try:
        source = source_of(storage, repository)
        version, files, _ = source.listing(past_of(storage, repository.id, source))
    except (ArgumentError, CodeError, OSError) as error:  # the folder is gone, or is not readable as it was
        return Current(storage.snapshot(repository), reason=str(error))
    snapshot = _completed(storage, repository, version.id)
    if snapshot is not None:
        return Current(_made_newest(storage, repository, snapshot, version.names) if most else snapshot)
    new_count = _new_files(storage, repository, files)
    reason = f"more than {amount(most, 'new file')}"
    if new_count <= most and most:
        if not storage.writable:
            reason = "the index cannot be written"
        else:
            try:
                report = index_source(storage, source_at(repository.path), history=RECENT, timeout=_PATIENCE)
            except StoreError as error:
                reason = str(error)
            else:
                snapshot = _completed(storage, repository, report.snapshot)
                if snapshot is not None:
                    return Current(snapshot, indexed=report.added)
    elif not most:
        reason = "it was not to be refreshed"
    based = [s for s in storage.snapshots(repository.id) if version.commit and s.base == version.commit]
    nearest = newest_completed(based) or storage.snapshot(repository)
    rows = storage.file_rows(storage.members(repository.id, nearest.id))
    indexed = {(row.path, row.hash) for row in rows if not row.skip}
    current_pairs = {(file.path, file.hash) for file in files if not file.skip}
    return Current(nearest, len({path for path, _ in indexed ^ current_pairs}), reason)


def snapshot_at(storage: CodeStorage, repository: Repository, name: str, *, most: int = MOST) -> SnapshotInfo:
    """Return the snapshot of a commit, branch, tag or content id; a commit that is not indexed is, where little is new.

    Args:
        most: as for `current_snapshot`.

    Raises:
        UnknownSnapshotError: git does not know the name, or too many files are new.
    """
    try:
        return storage.snapshot(repository, name)
    except UnknownSnapshotError as unknown:
        try:
            source = source_of(storage, repository, name)
            version, files, _ = source.listing(past_of(storage, repository.id, source))
        except (ArgumentError, CodeError, OSError):
            raise unknown from None
        new_count = _new_files(storage, repository, files)
        if new_count > most or not storage.writable:
            raise UnknownSnapshotError(
                f"{name!r} of {repository.path} is not indexed, and {new_count} of its files are new; "
                f"run `sleuth code index {quote(repository.path)} --rev {quote(name)}`"
            ) from None
        newest_snapshot = newest_completed(storage.snapshots(repository.id))
        index_source(storage, source, history=RECENT, timeout=_PATIENCE)
        if newest_snapshot is not None:  # what asks for no name is not asked about this commit
            _made_newest(storage, repository, newest_snapshot, newest_snapshot.names)
        snapshot = _completed(storage, repository, version.id)
        if snapshot is None:
            raise
        return snapshot


def refresh_history(storage: CodeStorage, snapshot: Snapshot) -> str:
    """Record missing commits of a snapshot's history; return a line that names those still missing, or ""."""
    repository, tip = snapshot.repository, snapshot.info.base
    if not tip or is_recorded(storage, repository, tip):
        return ""
    remedy = f"run `sleuth code index {quote(repository.path)}`"
    if not storage.writable:
        return f"not all of the history is recorded, and the index cannot be written; {remedy}"
    try:
        check_place(storage, repository)
        with storage.writing(_PATIENCE):
            recorded = record_history(storage, repository, tip)
            storage.merge()
    except (CodeError, StoreError) as error:
        return f"not all of the history is recorded ({error}); {remedy}"
    return f"{amount(recorded.left, 'older commit')} not recorded yet; {remedy}" if recorded.left else ""


def _completed(storage: CodeStorage, repository: Repository, id: str) -> SnapshotInfo | None:
    return newest_completed([s for s in storage.snapshots(repository.id) if s.id == id])


def _made_newest(
    storage: CodeStorage, repository: Repository, snapshot: SnapshotInfo, names: Sequence[str]
) -> SnapshotInfo:
    """Return a snapshot that is the newest one from now on, with these branches and tags."""
    if snapshot.id == storage.snapshot(repository).id or not storage.writable:
        return snapshot
    with suppress(StoreError), storage.writing(0):  # or another run makes its own the newest
        storage.complete(repository.id, snapshot.id, names, storage.members(repository.id, snapshot.id))
        storage.note()
    return _completed(storage, repository, snapshot.id) or snapshot


def _new_files(storage: CodeStorage, repository: Repository, files: list[Listed]) -> int:
    """Return how many files would have to be read and parsed."""
    keys = storage.known_files(repository.id)
    return sum(not file.skip and (file.path, file.hash) not in keys for file in files)
