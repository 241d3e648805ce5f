"""The files of a version of a repository, and what they hold.

A source lists files with the hash of their content before any is read, where that costs nothing, and reads only those
that are asked for. Three kinds: a commit, a git worktree, a plain folder.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Protocol

from sleuth import platform
from sleuth.code.parsing.limits import MAX_BYTES, TOO_LARGE
from sleuth.code.repository import git
from sleuth.code.repository.listing import SUBMODULE, FileTime, Listed, Listing, Past, Recall, Times, Version
from sleuth.code.repository.objects import Objects, blob_content, object_id
from sleuth.errors import ArgumentError, CodeError
from sleuth.files.ignore import SLEUTH_IGNORE
from sleuth.files.tree import IgnoredPaths, files_below, files_of_worktree

_SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was read may have changed again within the clock's grain."""
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: SUBMODULE}
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages"})


class Checkout(Protocol):
    """A version of a repository that can be read. `root` is the place of the repository."""

    root: Path

    def listing(self, past: Past | None = None) -> Listing:
        """Return the version and its files, without reading files that are known already."""

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""


def source_at(path: str | Path, revision: str | None = None) -> Checkout:
    """Return the source at a path, or at a revision of it.

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
        return CommitSource(root, revision)
    return WorktreeSource(root)


_SKIPPED = {"120000": "a link", "160000": SUBMODULE}
"""Entries of a commit that are left out, by mode."""


class CommitSource:
    """A commit, read from git's objects.

    Attributes:
        is_named: whether somebody named the commit; else it is the HEAD of a bare repository.
    """

    def __init__(self, root: Path, revision: str | None = None) -> None:
        self.root = root
        self.is_named = revision is not None
        self._objects = Objects(root)
        self._commit = self._objects.commit("HEAD" if revision is None else revision)

    def listing(self, past: Past | None = None) -> Listing:
        """List the files of the commit; asks git only for the difference to the commit that was listed last."""
        recall = past.recall if past is not None else Recall()
        recalled_files: list[Listed] = []
        entries = None
        if recall.commit:
            with suppress(CodeError):  # it may be gone
                entries = self._objects.differences(recall.commit, self._commit)
                recalled_files = recall.committed
        if entries is None:
            entries = git.files_of(self.root, self._commit)
        changed_paths = {entry.path for entry in entries}
        files = [file for file in recalled_files if file.path not in changed_paths]
        files += [Listed(path, id, _SKIPPED.get(mode, "")) for mode, id, path in entries if mode != git.GONE]
        files.sort()
        recall.commit, recall.committed = self._commit, files
        version = Version(self._commit, self._commit, git.names_of(self.root, self._commit))
        rules = [file for file in files if file.path.rpartition("/")[2] == SLEUTH_IGNORE and not file.skip]
        if rules:
            contents = dict(zip([file.path for file in rules], self.read(rules), strict=True))
            ignored = IgnoredPaths(self.root, [SLEUTH_IGNORE], contents)
            files = [file for file in files if file.path.encode() not in ignored]
        return Listing(version, files, {})

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order."""
        return self._objects.read([f.hash for f in files], MAX_BYTES)


class DiskSource:
    """Files on disk; contents are read once, for their hash, and kept for `read`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._contents: dict[str, bytes] = {}
        self._any_id = ""

    def _hidden(self, past: Past) -> Path | None:
        """Return the index's path, where it lies below the root."""
        is_below_root = past.without is not None and self.root in past.without.parents
        return past.without if is_below_root else None

    def content_of(self, path: str) -> bytes:
        """Return the content of a listed file that was not read yet; empty if only its hash was needed."""
        return self._contents.get(path, b"")

    def read(self, files: Sequence[Listed]) -> Iterator[bytes]:
        """Contents, in order; each can be read once.

        Raises:
            CodeError: a file that was not read for the listing is another by now.
        """
        for file in files:
            content = self._contents.pop(file.path, None)
            if content is None:
                content = blob_content((self.root / file.path).read_bytes(), file.hash)
            if content is None:
                raise CodeError(f"{file.path} changed while it was indexed; index again")
            yield content

    def _look(self, paths: Iterable[bytes], past: Past) -> tuple[list[Listed], Times]:
        """Return the file at each path that is there, in no order, and the times of those that are settled."""
        base = os.fsencode(self.root) + b"/"
        settled = time.time_ns() - _SETTLED_NS
        times: Times = {}
        files = [self._listed(base + path, git.text_of(path), settled, past.times, times) for path in paths]
        return [file for file in files if file is not None], times

    def _listed(
        self, full: bytes, name: str, settled: int, before: Mapping[str, FileTime], times: Times
    ) -> Listed | None:
        try:
            status = os.lstat(full)
            if not stat.S_ISREG(status.st_mode):
                kind = _KINDS.get(stat.S_IFMT(status.st_mode), "not a file")
                return Listed(name, "", "another repository" if name.endswith("/") else kind)
            if status.st_size > MAX_BYTES:
                return Listed(name, f"size-{status.st_size}-{status.st_mtime_ns}", TOO_LARGE)
            entry = before.get(name)
            if entry is not None and (entry.size, entry.changed) == (status.st_size, status.st_mtime_ns):
                times[name] = entry
                return Listed(name, entry.hash)
            with os.fdopen(platform.open_plain(full), "rb", 0) as file:
                content = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            return Listed(name, "", f"cannot be read: {error.strerror}")
        self._contents[name] = content
        hash = object_id(content, self._any_id)
        if 0 <= status.st_mtime_ns < settled and len(content) == status.st_size:
            times[name] = FileTime(status.st_size, status.st_mtime_ns, hash)
        return Listed(name, hash)


class WorktreeSource(DiskSource):
    """A worktree as it is: tracked files and those git would add, with their present content.

    What git says is as in its index, and is known by that id, is not looked at. A file of which a checkout converted
    line ends, `$Id$` or the encoding has the content of its blob; one that a filter changed is known by the id of what
    stands on the disk, and looked at each time. Where there is a `.sleuthignore`, it leaves out tracked files too, and
    it may take back what git ignores.
    """

    def listing(self, past: Past | None = None) -> Listing:
        """List the files of the worktree, named by the commit where it is clean."""
        past = past or Past()
        recall = past.recall
        current: list[Listed] = []
        times: Times = {}

        def look(index: git.Index) -> None:
            nonlocal current, times
            _recall(index, past)
            # An id of the repository tells which hash it uses.
            self._any_id = next(chain(index.tracked.values(), index.unwatched.values()), "")
            current, times = self._look(index.others | recall.unknown, past)

        self._contents.clear()
        folder = self._hidden(past)
        tree = git.worktree(self.root, recall.index, look, without=folder)
        changes, ignored = self._by_our_rules(tree, folder)
        changed_files, times_of_changed = self._look(changes - tree.index.others - recall.unknown, past)
        edits = {git.text_of(path) for path in changes}
        index = tree.index
        current = [
            file if file.path in edits else self._as_blob(file, index) for file in current + changed_files
        ]
        hashes = {file.path: file.hash for file in current}
        times = {
            path: time
            for path, time in (times | times_of_changed).items()
            if hashes[path] == time.hash and (path in edits or index.tracked.get(path) != time.hash)
        }
        files = [file for file in recall.trusted if file.path not in edits] if edits else recall.trusted[:]
        files += current
        is_complete = len(files) == len(index.tracked) + len(index.others)
        if ignored is not None:
            files = [file for file in files if index.bytes_of(file.path) not in ignored]
            rules = [path for path in _rules_above(index.tracked) if path not in index.tracked]
            is_complete = is_complete and not any(os.path.lexists(f"{self.root}/{path}") for path in rules)
        files.sort()
        if not tree.head or not tree.clean:
            return Listing(Version(content_id(files), tree.head), files, times)
        # Not where some are out of sight, or changed by a filter.
        as_committed = is_complete and all(
            file.skip or index.id_of(file.path) == file.hash
            for file in (current if ignored is None else files)
        )
        id = tree.head if as_committed else content_id(files)
        return Listing(Version(id, tree.head, git.names_of(self.root, tree.head)), files, times)

    def _as_blob(self, file: Listed, index: git.Index) -> Listed:
        """Return a file that git calls unchanged with the content of its blob, where that can be told."""
        blob = index.id_of(file.path)
        if file.skip or not blob or file.hash == blob:
            return file
        content = self._contents.get(file.path)
        if content is None:
            try:
                content = (self.root / os.fsdecode(index.bytes_of(file.path))).read_bytes()
            except OSError:
                return file
        original = blob_content(content, blob)
        if original is None:
            return file
        self._contents[file.path] = original
        return Listed(file.path, blob)

    def _by_our_rules(
        self, tree: git.Worktree, folder: Path | None
    ) -> tuple[frozenset[bytes], IgnoredPaths | None]:
        """Return what is changed or untracked, and which tracked files to leave out.

        Where there is no `.sleuthignore`, that is what git says, and none.
        """
        tracked = tree.index.tracked
        paths = [*tracked, *(git.text_of(path) for path in tree.changed)]
        if not any(os.path.lexists(f"{self.root}/{rules}") for rules in _rules_above(paths)):
            return tree.changed, None
        changes = {path for path in tree.changed if git.text_of(path) in tracked or path in tree.index.others}
        prefix = folder and os.fsencode(folder.relative_to(self.root)) + b"/"
        untracked_paths = {
            path
            for path in files_of_worktree(self.root)
            if git.text_of(path) not in tracked
            and path not in tree.index.others
            and not (prefix and path.startswith(prefix))
        }
        return frozenset(changes | untracked_paths), IgnoredPaths(self.root, [SLEUTH_IGNORE])


def _rules_above(paths: Iterable[str]) -> list[str]:
    """Return the paths of the `.sleuthignore` that the folders above these files may hold."""
    folders = {""}
    for path in paths:
        folder = path
        while (folder := folder[: folder.rfind("/", 0, len(folder) - 1) + 1]) not in folders:
            folders.add(folder)
    return [folder + SLEUTH_IGNORE for folder in folders]


def _recall(index: git.Index, past: Past) -> None:
    """Tell the tracked files that are known from those that are not, where that is other than before."""
    recall, keys = past.recall, past.known
    if recall.index is not index or recall.known is not keys:
        recall.index, recall.known, recall.trusted = index, keys, []
        recall.unknown = {index.bytes_of(path) for path in index.tracked}
    trusted: list[Listed] = []
    for raw in list(recall.unknown):
        path = git.text_of(raw)
        if (path, index.tracked[path]) in keys:
            recall.unknown.remove(raw)
            trusted.append(Listed(path, index.tracked[path]))
    if trusted:
        recall.trusted += trusted
        recall.trusted.sort()


class FolderSource(DiskSource):
    """A plain folder, without hidden files, installed packages and what its ignore files leave out."""

    def listing(self, past: Past | None = None) -> Listing:
        """Return the files below the folder."""
        past = past or Past()
        folder = self._hidden(past)
        without = folder and str(folder.relative_to(self.root))
        paths = files_below(self.root, lambda folder, name: is_passed_over(name) or folder + name == without)
        self._contents.clear()
        files, times = self._look(paths, past)
        files.sort()
        return Listing(Version(content_id(files)), files, times)


def is_passed_over(name: str) -> bool:
    """Return whether a plain folder is indexed without the files and folders of this name."""
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def content_id(files: Iterable[Listed]) -> str:
    """Names a set of files by their paths and contents."""
    text = "".join([f"{path}\0{hash}\n" for path, hash, _ in files])
    digest = hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False)
    return f"content-{digest.hexdigest()}"
