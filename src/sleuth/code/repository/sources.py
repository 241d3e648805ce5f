"""Which files make up this version of a repository, and what do they hold?

A source lists files with the hash of their content before any is read, where that costs nothing, and reads only those
that are asked for. Three kinds: a commit, a git worktree, a plain folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from sleuth.code.parsing.limits import MAX_BYTES, TOO_LARGE
from sleuth.code.repository import git
from sleuth.code.repository.objects import Objects
from sleuth.code.snapshots.memory import Recall
from sleuth.errors import ArgumentError, CodeError
from sleuth.files import IGNORE_FILES, SLEUTH_IGNORE, IgnoredPaths, files_below, files_of_worktree

_FEW = 100
"""Paths that git is asked for one by one."""
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may have changed again within the clock's grain."""
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a submodule"}
_RULES = frozenset({*IGNORE_FILES, ".gitattributes", ".gitmodules", ".git"})
"""Files that decide what others are."""
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
    """A version of a repository that can be read. `root` and `url` name the repository.

    Attributes:
        recall: what the last run of this process saw of it; set before it is listed.
    """

    root: Path
    recall: Recall

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
        return CommitSource(root, "HEAD" if revision is None else revision)
    return WorktreeSource(root)


_SKIPPED = {"120000": "a link", "160000": "a submodule"}
"""What is left out of a commit, by mode."""


class CommitSource:
    """A commit, read from git's objects.

    Attributes:
        recall: the commit that was listed last in this process: only what is other in this one is asked for.
    """

    def __init__(self, root: Path, revision: str) -> None:
        self.root = root
        self.recall = Recall()
        self._objects = Objects(root)
        self._commit = self._objects.commit(revision)

    @property
    def url(self) -> str:
        """That of its origin."""
        return git.origin_of(self.root)

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files of the commit."""
        with git.names_of(self.root, self._commit) as names:
            before: list[Listed] = []
            entries = None
            if self.recall.commit:
                with suppress(CodeError):  # it may be gone
                    entries = self._objects.differences(self.recall.commit, self._commit)
                    before = self.recall.committed
            if entries is None:
                entries = git.files_of(self.root, self._commit)
            other = {entry.path for entry in entries}
            files = [file for file in before if file.path not in other]
            files += [
                Listed(path, id, _SKIPPED.get(mode, "")) for mode, id, path in entries if mode != git.GONE
            ]
            files.sort()
            self.recall.commit, self.recall.committed = self._commit, files
            return Version(self._commit, self._commit, tuple(names())), files

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        return self._objects.read([f.hash for f in files], MAX_BYTES)


class DiskSource(ABC):
    """Files on disk; contents are read once, for their hash, and kept for `read`.

    Attributes:
        remembered: size, time of change in ns and hash by path, of an earlier listing: a file whose size and time are
            the same is not read again.
        seen: the same of this listing, without files that changed so lately that a further change may not show.
        known: (path, hash) pairs that need not be read.
        recall: what the last listing of this process saw.
        without: a folder that is no part of it: the index itself.
    """

    url = ""
    without: Path | None = None

    def __init__(self, root: Path) -> None:
        self.root = root
        self.recall = Recall()
        self.known: Container[tuple[str, str]] = ()
        self.remembered: dict[str, tuple[int, int, str]] = {}
        self.seen: dict[str, tuple[int, int, str]] = {}
        self._contents: dict[str, bytes] = {}

    @abstractmethod
    def listing(self) -> tuple[Version, list[Listed]]:
        """What it is, and its files in order of path."""

    def listing_after(self, changed: Iterable[str | Path]) -> tuple[Version, list[Listed]] | None:
        """`listing`, where no file but those of `changed` differs from the last one; None where that cannot be told.

        Args:
            changed: absolute paths.
        """
        before = self.recall
        if before.files is None or before.known is not self.known:
            return None
        names = {name for path in changed if (name := self._name(path)) is not None}
        sorted_out = self._sort_out(names, [path for path, _, _ in before.files])
        wanted = None if sorted_out is None else self._wanted(sorted_out[1])
        if sorted_out is None or wanted is None:
            return None
        files = [file for file in before.files if file[0] not in names]
        files += self._list([*sorted_out[0], *wanted])
        files.sort()
        version = self._version_after(files, names)
        if version is None:
            return None
        for name, seen in self.remembered.items():
            if name not in names:
                self.seen[name] = seen
        before.files = files
        return version, files

    def _sort_out(self, names: set[str], known: list[str]) -> tuple[list[bytes], list[bytes]] | None:
        """Those that were listed, and files that were not; None where more may have changed than these.

        Args:
            known: all that were listed, in order.
        """
        old: list[bytes] = []
        new: list[bytes] = []
        for name in names:
            full = self.root / name
            if full.name in _RULES or not name.isprintable() or "\\" in name:
                return None  # decides about others, or may be spelt otherwise in listings
            if full.is_dir() and not full.is_symlink():
                return None
            at = bisect_left(known, name)
            if at < len(known) and known[at] == name:
                old.append(os.fsencode(name))
            elif os.path.lexists(full):
                new.append(os.fsencode(name))
            elif (at := bisect_left(known, f"{name}/")) < len(known) and known[at].startswith(f"{name}/"):
                return None  # a folder is gone
        return old, new

    def _name(self, path: str | Path) -> str | None:
        """The name in listings of an absolute path; None outside the root, and in the index."""
        inside = Path(path)
        if not inside.is_relative_to(self.root) or (self._hidden and inside.is_relative_to(self._hidden)):
            return None
        return inside.relative_to(self.root).as_posix()

    @property
    def _hidden(self) -> Path | None:
        """The index, where it lies below the root."""
        below = self.without is not None and self.root in self.without.parents
        return self.without if below else None

    @abstractmethod
    def _wanted(self, paths: list[bytes]) -> Iterable[bytes] | None:
        """Which paths of files that were not there are listed; None where that cannot be told."""

    @abstractmethod
    def _version_after(self, files: list[Listed], names: set[str]) -> Version | None:
        """What the files are now, of which `names` may have changed; None where that cannot be told."""

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

    def _list(self, paths: Iterable[bytes], *, further: bool = False) -> list[Listed]:
        """Looks at each path; in no order, without those that are gone."""
        if not further:
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
                return Listed(name, f"size-{status.st_size}-{status.st_mtime_ns}", TOO_LARGE)
            before = self.remembered.get(name)
            if before is not None and before[:2] == (status.st_size, status.st_mtime_ns):
                self.seen[name] = before
                return Listed(name, before[2])
            content = _content(full, status.st_size)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Listed(name, "", f"cannot be read: {error.strerror}")
        self._contents[name] = content
        hash = object_id(content)
        if status.st_mtime_ns < settled and len(content) == status.st_size:
            self.seen[name] = (status.st_size, status.st_mtime_ns, hash)
        return Listed(name, hash)


def _content(path: bytes, size: int) -> bytes:
    """What a file holds, probably `size` bytes: in one read."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = os.read(fd, size + 1)
        while len(content) != size and (more := os.read(fd, 1 << 20)):
            content += more
        return content
    finally:
        os.close(fd)


class WorktreeSource(DiskSource):
    """A worktree as it is: tracked files and those git would add, with their present content.

    What git says is as in its index, and is known by that id, is not looked at. A file that git changes when it checks
    it out (line ends, filters) is known by the id of what stands on the disk, and looked at each time. Where there is a
    `.sleuthignore`, it leaves out tracked files too, and it may take back what git ignores.
    """

    @property
    def url(self) -> str:  # type: ignore[override]
        """That of its origin."""
        return git.origin_of(self.root)

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files of the worktree; named by the commit where it is clean."""
        recall = self.recall
        listed: list[Listed] = []

        def look(index: git.Index) -> None:
            self._recall(index)
            listed[:] = self._list(index.others | recall.unknown)

        tree = git.worktree(self.root, recall.index, look, without=self._hidden)
        changed, ignored = self._by_our_rules(tree)
        listed += self._list(changed - tree.index.others - recall.unknown, further=True)
        moved = {git.text_of(path) for path in changed}
        tracked = tree.index.tracked
        self.seen = {p: seen for p, seen in self.seen.items() if p in moved or tracked.get(p) != seen[2]}
        files = [file for file in recall.trusted if file[0] not in moved] if moved else recall.trusted[:]
        files += listed
        if ignored is not None:
            files = [file for file in files if tree.index.bytes_of(file.path) not in ignored]
        files.sort()
        recall.files, recall.head = files, tree.head
        recall.touched = {git.text_of(path) for path in tree.touched}
        if not tree.head or not tree.clean:
            return Version(content_id(files), tree.head), files
        as_committed = len(files) == len(tracked) + len(tree.index.others) and all(
            file.skip or tracked.get(file.path) == file.hash for file in listed
        )  # not where some are out of sight, or changed when they were checked out
        with git.names_of(self.root, tree.head) as names:
            id = tree.head if as_committed else content_id(files)
            return Version(id, tree.head, tuple(names())), files

    def _by_our_rules(self, tree: git.Worktree) -> tuple[frozenset[bytes], IgnoredPaths | None]:
        """What is changed or untracked, and which tracked files to leave out.

        Where there is no `.sleuthignore`, that is what git says, and none.
        """
        tracked = tree.index.tracked
        paths = [*tracked, *(git.text_of(path) for path in tree.changed)]
        folders = {path[: path.rfind("/") + 1] for path in paths} | {""}
        if not any(os.path.lexists(f"{self.root}/{folder}{SLEUTH_IGNORE}") for folder in folders):
            return tree.changed, None
        known = {path for path in tree.changed if git.text_of(path) in tracked or path in tree.index.others}
        index_folder = self._hidden and os.fsencode(self._hidden.relative_to(self.root)) + b"/"
        new = {
            path
            for path in files_of_worktree(self.root)
            if git.text_of(path) not in tracked
            and path not in tree.index.others
            and not (index_folder and path.startswith(index_folder))
        }
        return frozenset(known | new), IgnoredPaths(self.root, [SLEUTH_IGNORE])

    def _recall(self, index: git.Index) -> None:
        """Tell the tracked files that are known from those that are not, where that is other than before."""
        recall, known = self.recall, self.known
        if recall.index is not index or recall.known is not known:
            recall.index, recall.known, recall.trusted = index, known, []
            recall.unknown = {index.bytes_of(path) for path in index.tracked}
        found = []
        for raw in recall.unknown:
            path = git.text_of(raw)
            if (path, index.tracked[path]) in known:
                found.append((raw, Listed(path, index.tracked[path])))
        if found:
            recall.unknown.difference_update([raw for raw, _ in found])
            recall.trusted += [file for _, file in found]
            recall.trusted.sort()

    def _wanted(self, paths: list[bytes]) -> Iterable[bytes] | None:
        folders = {folder for path in paths for folder in (self.root / os.fsdecode(path)).parents}
        inside = [folder for folder in folders if folder.is_relative_to(self.root) and folder != self.root]
        if any(folder.is_symlink() or (folder / ".git").exists() for folder in inside):
            return None
        if not paths:
            return ()
        if any(os.path.lexists(folder / SLEUTH_IGNORE) for folder in [self.root, *inside]):
            ignored = IgnoredPaths(self.root)
            return [path for path in paths if path not in ignored]
        return set(paths) - git.ignored(self.root, paths)

    def _version_after(self, files: list[Listed], names: set[str]) -> Version | None:
        recall = self.recall
        index = recall.index
        if index is None or index.stamp is None or git.stamp_of(self.root) != index.stamp:
            return None
        recall.touched |= names
        tracked = recall.touched & index.tracked.keys()
        untracked = recall.touched - tracked
        if not any(file.path in untracked for file in files) and (
            len(tracked) > _FEW or not git.any_differs(self.root, sorted(tracked))
        ):
            return None  # perhaps clean: then it is the commit
        return Version(content_id(files), recall.head)


class FolderSource(DiskSource):
    """A plain folder, without hidden files, installed packages and what its ignore files leave out."""

    def listing(self) -> tuple[Version, list[Listed]]:
        """The files below the folder."""
        without = self._hidden and str(self._hidden.relative_to(self.root))
        paths = files_below(self.root, lambda folder, name: _is_passed_over(name) or folder + name == without)
        files = sorted(self._list(paths))
        self.recall.files, self.recall.known = files, self.known
        return Version(content_id(files)), files

    def _wanted(self, paths: list[bytes]) -> Iterable[bytes] | None:
        ignored = IgnoredPaths(self.root)
        out = []
        for path in paths:
            *folders, name = os.fsdecode(path).split("/")
            above = ["/".join(folders[: n + 1]) for n in range(len(folders))]
            if any((self.root / folder).is_symlink() for folder in above):
                return None
            if not any(map(_is_passed_over, [*folders, name])) and path not in ignored:
                out.append(path)
        return out

    def _version_after(self, files: list[Listed], names: set[str]) -> Version | None:
        return Version(content_id(files))


def _is_passed_over(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def object_id(content: bytes) -> str:
    """What git calls a blob of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def content_id(files: Iterable[Listed]) -> str:
    """Names a set of files by their paths and contents."""
    text = "".join([f"{path}\0{hash}\n" for path, hash, _ in files])
    digest = hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return f"content-{digest.hexdigest()}"
