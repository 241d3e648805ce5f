"""Moves an index from one clone of a repository to another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from sleuth.code.repository.commits import commits_between
from sleuth.code.repository.objects import commit_named
from sleuth.code.repository.sources import source_at
from sleuth.code.snapshots.lookup import outermost
from sleuth.errors import CodeError

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import Repository
    from sleuth.code.snapshots.storage import CodeStorage

_MOST_COMMITS: Final = 10_000
"""Ancestors of a clone's commit whose index it may start from."""


def ancestors(path: str | Path) -> list[str]:
    """Return the commit that is checked out at a path and its newest ancestors, newest first.

    Raises:
        CodeError: there is no commit.
    """
    root = source_at(path).root
    commit = commit_named(str(root), "HEAD")
    if commit is None:
        raise CodeError(f"{root} has no commit: an index is pushed and pulled by commit")
    return commits_between(root, commit, (), _MOST_COMMITS)


def indexed_commit(storage: CodeStorage, path: str | Path) -> str:
    """Return the commit that is checked out at a path, whose snapshot the index has.

    Raises:
        CodeError: there is no such snapshot, or the index has other repositories beside it.
    """
    (commit, *_), root = ancestors(path), source_at(path).root
    repository = storage.repository(str(root))
    _only(storage)
    if not any(s.id == commit and s.status == "completed" for s in storage.snapshots(repository.id)):
        raise CodeError(f"commit {commit[:12]} of {root} is not indexed: `sleuth code index --rev HEAD`")
    return commit


def relocate(storage: CodeStorage, root: Path) -> None:
    """Give the repository of an index, and its submodules, the places that they have in another clone.

    Args:
        root: of the clone, absolute.

    Raises:
        CodeError: the index has several repositories.
    """
    main = _only(storage)
    with storage.transaction() as connection:
        for repository in storage.repositories():
            place = root / Path(repository.path).relative_to(main.path)
            connection.execute("UPDATE repositories SET path = ? WHERE id = ?", (str(place), repository.id))
        connection.execute("DELETE FROM times")  # of the files of the other clone


def _only(storage: CodeStorage) -> Repository:
    repositories = outermost(storage.repositories())
    if len(repositories) != 1:
        raise CodeError(
            f"{storage.path} must have one repository to be pushed or pulled, got {len(repositories)}: "
            "give each repository an index of its own, `sleuth code index --index FOLDER`"
        )
    return repositories[0]
