"""The code of an index within some repositories and folders, for readers who may see no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sleuth.code.snapshots.lookup import repository_named
from sleuth.code.snapshots.places import is_below

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import Repository, SnapshotInfo
    from sleuth.code.snapshots.snapshot import Snapshot
    from sleuth.code.snapshots.storage import CodeStorage


class CodeView:
    """The code of an index as if it held some repositories and folders alone. Safe to share between threads.

    A snapshot of it has the files of these folders and no others, so that definitions, references and the numbers of
    words are theirs alone.
    """

    def __init__(self, storage: CodeStorage, places: Sequence[str]) -> None:
        """Narrow an open storage, which stays open.

        Args:
            places: each is the id, path or URL of a repository, a folder of repositories, or one of the former with
                a folder or file of the repository after a slash.
        """
        self._storage = storage
        self.places = tuple(places)

    def repositories(self) -> list[Repository]:
        """Return the repositories of which something may be seen, in order of path."""
        return [r for r in self._storage.repositories() if folders_of(r, self.places)]

    def repository(self, name: str) -> Repository:
        """Return the repository of that id, path or URL.

        Raises:
            UnknownRepositoryError: none that may be seen; lists those that may.
        """
        return repository_named(name, self.repositories(), "what this key may search")

    def snapshots(self, repository: str) -> list[SnapshotInfo]:
        """Return all snapshots of a repository, newest first."""
        return self._storage.snapshots(repository)

    def snapshot(self, repository: Repository, name: str | None = None) -> SnapshotInfo:
        """Return the completed snapshot of a name, or the newest."""
        return self._storage.snapshot(repository, name)

    def open_snapshot(self, repository: Repository, info: SnapshotInfo) -> Snapshot:
        """Return the part of a snapshot that may be seen."""
        return self._storage.open_snapshot(repository, info, folders=folders_of(repository, self.places))


def folders_of(repository: Repository, places: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of a repository that places name: ("",) for all of it, () for none."""
    names = [name for name in (repository.id, repository.path, repository.url) if name]
    folders = set()
    for place in (place.rstrip("/") for place in places):
        for name in names:
            if is_below(name, place):
                return ("",)
            if is_below(place, name):
                folders.add(place[len(name) + 1 :])
    return tuple(sorted(folders))
