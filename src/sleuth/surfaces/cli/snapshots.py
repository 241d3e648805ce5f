"""Opens the repository and snapshot of a `sleuth code` command, and compares it with the worktree."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.common import say
from sleuth.surfaces.cli.options import options_from
from sleuth.surfaces.cli.places import index_folder

if TYPE_CHECKING:
    from sleuth.code import CodeStorage, Snapshot
    from sleuth.code.snapshots.record import Repository

MOST_REFRESHED = 500


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """An open index and the snapshot to answer from.

    Attributes:
        stale: number of files of the worktree that differ from the snapshot; None where nobody looked.
    """

    storage: CodeStorage
    snapshot: Snapshot
    stale: int | None


@contextmanager
def opened(
    *,
    repo: str | None = None,
    at: str | None = None,
    max_refresh: Annotated[int, Ge(0)] = MOST_REFRESHED,
    no_refresh: bool = False,
    index: Path | None = None,
) -> Iterator[OpenSnapshot]:
    """Open the snapshot of a command; index it again first if few files changed."""
    from sleuth.code.snapshots.refreshing import Current, current_snapshot, snapshot_at
    from sleuth.engine import open_code

    with open_code(index_folder(index)) as storage:
        repository = repository_here(storage, repo)
        if no_refresh:
            current = Current(storage.snapshot(repository, at))
        elif at is not None:
            current = Current(snapshot_at(storage, repository, at, most=max_refresh))
        else:
            current = current_snapshot(storage, repository, most=max_refresh)
        if warning := current.warning(repository):
            say(f"sleuth: stale: {warning}", err=True)
        stale = None if no_refresh and at is None else current.stale
        yield OpenSnapshot(storage, storage.open_snapshot(repository, current.snapshot), stale)


Opening = Annotated[AbstractContextManager[OpenSnapshot], options_from(opened)]
"""What a command gets for the options that choose a snapshot: it opens that by `with opening`."""


def repository_here(storage: CodeStorage, repo: str | None) -> Repository:
    """Return the repository of that name, or the one around the current folder, or the only one that is in no other.

    Raises:
        ArgumentError: there are several, or the current folder is in a worktree that is not indexed: another worktree
            of the same repository, or a repository inside an indexed one, must not answer for it.
    """
    from sleuth.code.repository.git import common_folder, worktree_of
    from sleuth.code.snapshots.lookup import outermost

    if repo is not None:
        return storage.repository(repo)
    repositories = storage.repositories()
    cwd = Path.cwd().resolve()
    around = [r for r in repositories if cwd.is_relative_to(r.path)]
    nearest = max(around, key=lambda r: len(r.path)) if around else None
    top = worktree_of(cwd) if nearest is None or cwd != Path(nearest.path) else None
    if top is not None:
        if nearest is not None:
            misled = top != Path(nearest.path) and top.is_relative_to(nearest.path)
        else:
            shared = common_folder(top)
            misled = shared is not None and any(common_folder(Path(r.path)) == shared for r in repositories)
        if misled:
            raise ArgumentError(
                f"--repo must name a repository where the current one is not indexed: run `sleuth code index {top}`"
            )
    if nearest is not None:
        return nearest
    if len(outer := outermost(repositories)) == 1:
        return outer[0]
    paths = "; ".join(r.path for r in repositories) or "none yet: `sleuth code index PATH` adds one"
    raise ArgumentError(f"--repo must name one of the repositories: {paths}")


def path_inside(name: str, root: Path) -> str:
    """Return a path relative to the root of the repository."""
    full = Path(os.path.normpath(root / name))
    if full == root or not full.is_relative_to(root):
        return "" if full == root else name
    return full.relative_to(root).as_posix()
