"""Which files make up this version of a repository, and what do they hold?

A source lists files with the hash of their content before any is read, where that costs nothing, and reads only those
that are asked for. Three kinds: a commit, a git worktree, a plain folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from sleuth.code import git
from sleuth.errors import ArgumentError, CodeError

MAX_BYTES = 2_000_000
"""Larger files are listed with a reason and not read."""

_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may have changed again within the clock's grain."""
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a submodule"}
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


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


class Source(Protocol):
    """A version of a repository that can be read. `root` and `url` name the repository."""

    root: Path

    @property
    def url(self) -> str:
        """Of its origin, "" where it has none."""
        ...

    def listing(self) -> tuple[Version, list[Listed]]:
        """What it is, and its files in order of path."""
        ...

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        ...


def source_at(path: str | Path, revision: str | None = None) -> Source:
    """The source that a path, and a revision where one is given, mean.

    Raises:
        ArgumentError: no such folder, or a revision outside git.
        CodeError: an unknown revision.
    """
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise ArgumentError(f"path must be a folder, got {str(path)!r}")
    root = git.root_of(folder)
    if root is None:
        if revision is not None:
            raise ArgumentError(
                f"revision must be left out for {folder}, which is not in git, got {revision!r}"
            )
        return FolderSource(folder)
    if revision is not None or not (root / ".git").exists():
        return CommitSource(root, git.commit_of(root, revision or "HEAD"))
    return WorktreeSource(root)


class CommitSource:
    """A commit, read from git's objects."""

    def __init__(self, root: Path, commit: str) -> None:
        self.root = root
        self._commit = commit

    @property
    def url(self) -> str:
        """That of its origin."""
        return git.origin_of(self.root)

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files of the commit."""
        files = []
        for entry in git.tree(self.root, self._commit):
            skip = {"120000": "a link", "160000": "a submodule"}.get(entry.mode, "")
            files.append(Listed(entry.path, entry.object_id, skip))
        files.sort(key=lambda f: f.path)
        return Version(self._commit, self._commit, tuple(git.names_of(self.root, self._commit))), files

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        return git.blobs(self.root, [f.hash for f in files])


class DiskSource:
    """Files on disk; contents are read once, for their hash, and kept for `read`.

    Attributes:
        remembered: size, time of change in ns and hash by path, of an earlier listing: a file whose size and time are
            the same is not read again.
        seen: the same of this listing, without files that changed so lately that a further change may not show.
        known: (path, hash) pairs that need not be read.
    """

    url = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: Container[tuple[str, str]] = ()
        self.remembered: dict[str, tuple[int, int, str]] = {}
        self.seen: dict[str, tuple[int, int, str]] = {}
        self._contents: dict[str, bytes] = {}

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order; each can be read once.

        Raises:
            CodeError: a file that was not read for the listing is another by now.
        """
        for file in files:
            content = self._contents.pop(file.path, None)
            if content is None:
                content = (self.root / file.path).read_bytes()
                if object_id(content) != file.hash:
                    raise CodeError(f"{file.path} changed while it was indexed; index again")
            yield content

    def _list(self, paths: Iterable[bytes]) -> list[Listed]:
        """Looks at each path; in no order, without those that are gone."""
        self._contents.clear()
        self.seen.clear()
        base = os.fsencode(self.root) + b"/"
        settled = time.time_ns() - _SETTLED_NS
        out = [self._listed(base + path, git.text_of(path), settled) for path in paths]
        return [file for file in out if file is not None]

    def _listed(self, full: bytes, name: str, settled: int) -> Listed | None:
        try:
            status = os.lstat(full)
            if not stat.S_ISREG(status.st_mode):
                return Listed(name, "", _KINDS.get(stat.S_IFMT(status.st_mode), "not a file"))
            if status.st_size > MAX_BYTES:
                return Listed(
                    name, f"size-{status.st_size}-{status.st_mtime_ns}", f"larger than {MAX_BYTES} bytes"
                )
            before = self.remembered.get(name)
            if before is not None and before[:2] == (status.st_size, status.st_mtime_ns):
                self.seen[name] = before
                return Listed(name, before[2])
            with open(full, "rb") as file:  # noqa: PTH123 - bytes
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            return Listed(name, "", f"cannot be read: {error.strerror}")
        self._contents[name] = content
        hash = object_id(content)
        if status.st_mtime_ns < settled and len(content) == status.st_size:
            self.seen[name] = (status.st_size, status.st_mtime_ns, hash)
        return Listed(name, hash)


class WorktreeSource(DiskSource):
    """A worktree as it is: tracked files and those git would add, with their present content.

    What git says is as in its index, and is known by that id, is not looked at. A file that git changes when it checks
    it out (line ends, filters) is known by the id of what stands on the disk, and looked at each time.
    """

    @property
    def url(self) -> str:  # type: ignore[override]
        """That of its origin."""
        return git.origin_of(self.root)

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files of the worktree; named by the commit where it is clean."""
        tree = git.worktree(self.root)
        known = self.known
        trusted = [Listed(*pair) for pair in tree.tracked.items() if pair in known]
        others = list(tree.others)
        if len(trusted) < len(tree.tracked):
            others += [tree.bytes_of(pair[0]) for pair in tree.tracked.items() if pair not in known]
        files = self._list(others)
        held = tree.tracked
        self.seen = {path: seen for path, seen in self.seen.items() if held.get(path) != seen[2]}
        files += trusted
        files.sort()
        if tree.head and tree.clean:
            return Version(tree.head, tree.head, tuple(git.names_of(self.root, tree.head))), files
        return Version(content_id(files), tree.head), files


class FolderSource(DiskSource):
    """A plain folder, without hidden files, installed packages and what its `.gitignore` leaves out."""

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files below the folder."""
        files = sorted(self._list(self._walk()))
        return Version(content_id(files)), files

    def _walk(self) -> Iterator[bytes]:
        import pathspec

        try:
            lines = (self.root / ".gitignore").read_text("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        ignored = pathspec.GitIgnoreSpec.from_lines(lines)
        base = os.fsencode(self.root)
        for folder, folders, files in os.walk(base):
            at = os.path.relpath(folder, base)
            prefix = b"" if at == b"." else at + b"/"
            folders[:] = sorted(
                f
                for f in folders
                if not f.startswith(b".")
                and git.text_of(f) not in _SKIPPED_FOLDERS
                and not ignored.match_file(git.text_of(prefix + f) + "/")
            )
            for name in sorted(files):
                if not name.startswith(b".") and not ignored.match_file(git.text_of(prefix + name)):
                    yield prefix + name


def object_id(content: bytes) -> str:
    """What git calls a blob of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def content_id(files: Iterable[Listed]) -> str:
    """Names a set of files by their paths and contents."""
    text = "".join([f"{path}\0{hash}\n" for path, hash, _ in files])
    digest = hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return f"content-{digest.hexdigest()}"
