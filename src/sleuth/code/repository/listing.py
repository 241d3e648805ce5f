"""The files of a version of a repository, by path and hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SUBMODULE = "a submodule"
"""Why a submodule is not among the files of a repository."""


class Listed(NamedTuple):
    """A file of a source.

    Attributes:
        hash: git's object id of its content; "" where it has not been read.
        skip: why it is not indexed; "" where it is.
    """

    path: str
    hash: str
    skip: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """What a snapshot is of.

    Attributes:
        id: the commit; for a worktree with changes or a folder, `content-` and a hash of all paths and contents.
        commit: the commit it is or is based on; "" outside git.
        names: branches and tags at that commit.
    """

    id: str
    commit: str = ""
    names: tuple[str, ...] = ()


class FileTime(NamedTuple):
    """A file on disk when it was read.

    Attributes:
        changed: time of its last change in ns.
        hash: git's object id of its content.
    """

    size: int
    changed: int
    hash: str


Times = dict[str, FileTime]
"""Files on disk by path."""


class Listing(NamedTuple):
    """What a source holds.

    Attributes:
        files: in order of path.
        times: of files on disk, without those that changed so lately that a further change may not show.
    """

    version: Version
    files: list[Listed]
    times: Times
