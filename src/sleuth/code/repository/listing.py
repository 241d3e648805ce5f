"""The files of a version of a repository, by path and hash, and what is known of them before they are listed."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sleuth.code.repository.git import Index

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


Pair = tuple[str, str]
"""Path and hash: a file version."""


@dataclass(slots=True)
class Recall:
    """What a run of this process saw of the files on disk or of a commit; the next listing starts from there.

    Attributes:
        index: of git.
        known: the file versions that were known, which divide files into `trusted` and `unknown`.
        trusted: tracked files whose content, as the index says, is known; in order.
        unknown: the other tracked files.
        commit: the last one that was read from git, and not from disk; `committed` are its files.
    """

    index: Index | None = None
    known: Container[Pair] = ()
    trusted: list[Listed] = field(default_factory=list)
    unknown: set[bytes] = field(default_factory=set)
    commit: str = ""
    committed: list[Listed] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Past:
    """What earlier runs know of a repository.

    Attributes:
        recall: what the last listing of this process saw; a listing brings it up to date.
        known: file versions that need not be read.
        times: of an earlier listing: a file whose size and time are the same is not read again.
        without: a folder that is no part of the repository: the index itself.
    """

    recall: Recall = field(default_factory=Recall)
    known: Container[Pair] = ()
    times: Mapping[str, FileTime] = field(default_factory=dict)
    without: Path | None = None
