"""Finds the repository and the snapshot that a name means."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from uuid import UUID

from sleuth.arguments import check_kind
from sleuth.code.repository.git import common_folder, worktree_of
from sleuth.code.repository.objects import commit_named
from sleuth.code.repository.sources import Checkout, source_at
from sleuth.errors import ArgumentError, CodeError, UnknownRepositoryError, UnknownSnapshotError
from sleuth.remote import shown_url

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import Repository, SnapshotInfo
    from sleuth.code.snapshots.snapshot import FileVersions

_NONE_YET = "none yet: `sleuth code index PATH` adds one"


def repository_named(name: str | UUID, repositories: Sequence[Repository], place: str) -> Repository:
    """Return the repository of that id, path or URL.

    Args:
        place: the index that knows them, for the error.

    Raises:
        ArgumentError: a name that is no text, or empty.
        UnknownRepositoryError: no such repository; lists the known ones.
    """
    name = str(name) if isinstance(name, UUID) else name
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"repo_id must be a repository's id, path or URL, got {name!r}")
    full_path = _resolved(name)
    safe_name = shown_url(name)
    for repository in repositories:
        is_there = safe_name == repository.url or full_path == repository.path
        if is_there or name.lower() == repository.id or name in (repository.path, repository.url):
            return repository
    known_names = "; ".join(f"{r.id} ({r.path})" for r in repositories) or _NONE_YET
    raise UnknownRepositoryError(f"no repository {safe_name!r} in {place}; known: {known_names}")


def outermost(repositories: Iterable[Repository]) -> list[Repository]:
    """Return the repositories that are not inside another one, as submodules and nested worktrees are."""
    repositories = list(repositories)
    paths = {Path(repository.path) for repository in repositories}
    return [repository for repository in repositories if paths.isdisjoint(Path(repository.path).parents)]


def repository_around(folder: Path, repositories: Sequence[Repository]) -> Repository:
    """Return the repository around a folder, or the only one that is in no other.

    Raises:
        ArgumentError: there are several, or the folder is in a worktree that is not indexed: another worktree of the
            same repository, or a repository inside an indexed one, must not answer for it.
    """
    enclosing = [r for r in repositories if folder.is_relative_to(r.path)]
    nearest = max(enclosing, key=lambda r: len(r.path)) if enclosing else None
    top = worktree_of(folder) if nearest is None or folder != Path(nearest.path) else None
    if top is not None:
        if nearest is not None:
            misleads = top != Path(nearest.path) and top.is_relative_to(nearest.path)
        else:
            shared = common_folder(top)
            misleads = shared is not None and any(common_folder(Path(r.path)) == shared for r in repositories)
        if misleads:
            raise ArgumentError(
                f"--repo must name a repository: {top} is not indexed; run `sleuth code index {quote(str(top))}`"
            )
    if nearest is not None:
        return nearest
    if len(outermost_ones := outermost(repositories)) == 1:
        return outermost_ones[0]
    paths = "; ".join(r.path for r in repositories) or _NONE_YET
    raise ArgumentError(f"--repo must name one of the repositories: {paths}")


def _resolved(name: str) -> str | None:
    """Return the path that a name means, or None for a URL and for what no path can be."""
    if "://" in name:
        return None
    try:
        return str(Path(name).expanduser().resolve())
    except (ValueError, OSError, RuntimeError):  # a null byte, a loop of links, a home of nobody
        return None


def snapshot_named(
    name: str | None, repository: Repository, snapshots: Sequence[SnapshotInfo]
) -> SnapshotInfo:
    """Return the completed snapshot of that id, beginning of an id, branch or tag; the newest one for None.

    Args:
        snapshots: those of the repository, newest first.

    Raises:
        ArgumentError: a name that is no text.
        UnknownSnapshotError: no such completed snapshot; lists the known ones.
    """
    known_names = ", ".join(
        " ".join([s.id[:20], *s.names, *([s.status] if s.status != "completed" else [])])
        for s in snapshots[:20]
    )
    if name is None:
        newest = newest_completed(snapshots)
        if newest is None:
            raise UnknownSnapshotError(
                f"{repository.path} has no completed snapshot yet ({known_names or 'none begun'}); "
                f"run `sleuth code index {quote(repository.path)}`"
            )
        return newest
    check_kind(name, str, "snapshot_id", "a commit, branch, tag, content id or None")
    matches = [s for s in snapshots if s.id == name or name in s.names]
    matches = matches or [s for s in snapshots if len(name) >= 4 and s.id.startswith(name)]
    if not matches:
        commit = commit_named(repository.path, name)
        matches = [s for s in snapshots if s.id == commit]
    if not matches:
        raise UnknownSnapshotError(
            f"no snapshot {name!r} of {repository.path}; known: {known_names or 'none'}"
        )
    completed = newest_completed(matches)
    if completed is None:
        s = matches[0]
        reason = f": {s.error}" if s.error else ""
        raise UnknownSnapshotError(
            f"snapshot {name!r} of {repository.path} is {s.status}{reason}; known: {known_names}"
        )
    return completed


def newest_completed(snapshots: Sequence[SnapshotInfo]) -> SnapshotInfo | None:
    """Return the first of these snapshots, the newest first, that is completed."""
    return next((s for s in snapshots if s.status == "completed"), None)


def source_of(storage: FileVersions, repository: Repository, revision: str | None = None) -> Checkout:
    """Return the files of a repository; as `source_at`.

    Raises:
        CodeError: as `check_place`.
    """
    check_place(storage, repository)
    return source_at(repository.path, revision)


def check_place(storage: FileVersions, repository: Repository) -> None:
    """Refuse a repository outside the folder of the index: an index can come from anybody and name any folder.

    One that this process works in, and that does not hold the index, is the user's own choice.

    Raises:
        CodeError: it lies outside.
    """
    root, folder = Path(repository.path), storage.path.resolve().parent
    is_chosen = Path.cwd().is_relative_to(root) and not folder.is_relative_to(root)
    if not root.is_relative_to(folder) and not is_chosen:
        raise CodeError(f"it lies outside {folder}, so its files are read only when you index it")
