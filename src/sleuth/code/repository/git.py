"""Asks git about a folder; nothing here writes to a repository or its worktree."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sleuth.code.repository.process import NoGitError, SlowGitError, filters_off, finish, run, start
from sleuth.errors import CodeError
from sleuth.files.tree import files_of_worktree
from sleuth.remote import shown_url

Stamp = tuple[Any, ...]
_MANY = 10_000
_RULES_SECONDS = 30.0
"""Git is given so long to compare files with ignore rules."""
_TRACKED_ONLY = ("--untracked-files=no", "--no-renames", "--ignore-submodules=dirty")
"""Of `git status`; a submodule counts as changed by its commit alone, since git would run inside it for more."""
GONE = "000000"
"""The mode of a file that a commit does not have."""


class Entry(NamedTuple):
    """A file of a tree: mode ("100644", "120000" a link, "160000" a submodule), object id in hex, path."""

    mode: str
    object_id: str
    path: str


def root_of(path: Path) -> Path | None:
    """Return the top of the worktree that `path` is in, or the bare repository itself; None outside git.

    Raises:
        CodeError: git cannot be run, and this is a repository; or git does not trust its owner (`safe.directory`); or
            its settings place the worktree elsewhere.
    """
    if (path / ".git" / "HEAD").is_file():
        return path.resolve()
    root = _top(path)
    if root is None:
        return None
    is_home = (root / ".git").exists() or (root / "HEAD").is_file()  # of a worktree, or of a bare repository
    if not is_home or not path.resolve().is_relative_to(root):
        raise CodeError(
            f"the repository around {path} must have its worktree there, got {root} (`core.worktree`): name that folder"
        )
    return root


def worktree_of(folder: Path) -> Path | None:
    """Return the top of the worktree around a folder; None outside git, and where git refuses to say."""
    try:
        return root_of(folder)
    except CodeError:
        return None


def _top(path: Path) -> Path | None:
    # One call for all three: the last fails in a bare repository, after the others have been answered.
    arguments = ("rev-parse", "--is-bare-repository", "--absolute-git-dir", "--show-toplevel")
    try:
        answers = [Path(os.fsdecode(line)) for line in run(path, *arguments, check=False).splitlines()]
    except NoGitError:
        folder = path.resolve()
        bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        if bare or any((above / ".git").exists() for above in (folder, *folder.parents)):
            raise
        return None
    match answers:
        case [is_bare, git_folder, *_] if str(is_bare) == "true":
            return git_folder
        case [_, _, top]:
            return top
    try:  # outside git, or a path that holds a line break
        return Path(os.fsdecode(run(path, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    except CodeError as error:
        if "safe.directory" in str(error):
            raise
        return None


def names_of(root: Path, commit: str) -> tuple[str, ...]:
    """Return the branches and tags that point at a commit, 100 at most.

    A branch and a tag of one name are one: git would compare each name with all others to tell them apart.
    """
    names = ("--count=100", "--format=%(refname:lstrip=2)", "refs/heads", "refs/tags")
    return tuple(dict.fromkeys(text_of(run(root, "for-each-ref", "--points-at", commit, *names)).split()))


def origin_of(root: Path) -> str:
    """Return the URL of the remote `origin` without its secrets, or ""."""
    try:
        url = run(root, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except CodeError:
        return ""
    return shown_url(url)


def files_of(root: Path, commit: str) -> list[Entry]:
    """List all files of a commit, in git's order."""
    entries = []
    for record in text_of(run(root, "ls-tree", "-r", "-z", "--full-tree", commit)).split("\0")[:-1]:
        head, _, path = record.partition("\t")
        mode, _, object_id = head.split(" ")
        entries.append(Entry(mode, object_id, path))
    return entries


@dataclass(frozen=True, slots=True)
class Index:
    """What git tracks in a worktree.

    Attributes:
        stamp: of the files that git keeps it in, and what is checked out; None where it changed while it was read.
        tracked: object id in hex by path of plain files that are in sight.
        others: paths of anything else: links, submodules, unmerged, left out of sight.
        unwatched: object id in hex by path of plain files that git must not look at.
        odd: the bytes of tracked paths that are not UTF-8, by their text.
    """

    stamp: Stamp | None
    tracked: dict[str, str]
    others: frozenset[bytes]
    unwatched: dict[str, str]
    odd: dict[str, bytes]

    def id_of(self, path: str) -> str:
        """Return the object id of a tracked plain file; "" of anything else."""
        return self.tracked.get(path) or self.unwatched.get(path, "")

    def bytes_of(self, path: str) -> bytes:
        """Return the bytes of a tracked path in git."""
        return self.odd.get(path) or path.encode()


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree beside what is checked out.

    Attributes:
        head: the commit that is checked out, or "" before the first one.
        clean: whether nothing is changed, untracked files included.
        changed: paths whose content may be other than the index says, and untracked ones.
    """

    head: str
    clean: bool
    index: Index
    changed: frozenset[bytes]


def worktree(
    root: Path,
    before: Index | None = None,
    meanwhile: Callable[[Index], None] | None = None,
    *,
    without: Path | None = None,
) -> Worktree:
    """List what git tracks in a worktree or would add, and which of it differs from the index.

    Args:
        before: what was found earlier: it is taken as it is where git has not written since.
        meanwhile: called with what git tracks while git still looks at the files.
        without: a folder below the root whose untracked files do not count.
    """
    stamp = stamp_of(root)
    is_unchanged = before is not None and stamp is not None and before.stamp == stamp
    # Looking at one file after the other is faster than git's threads up to some thousands.
    fast = ("-c", "core.preloadIndex=false") if before is not None and len(before.tracked) < _MANY else ()
    off = filters_off(root)  # first: where settings cannot be read, nothing else may be waiting for them
    with ExitStack() as stack:
        begin = partial(start, root)
        listing = None if is_unchanged else stack.enter_context(begin("ls-files", "-z", "-s", "-v"))
        untracked = stack.enter_context(begin("ls-files", "-z", "--others", "--exclude-standard"))
        arguments = (*off, "status", "--porcelain=v2", "--branch", "-z", *_TRACKED_ONLY)
        status = stack.enter_context(begin(*fast, *arguments))
        if before is not None and listing is None:
            index = before
        else:
            records = b"" if listing is None else finish(listing, root, "ls-files")
            index = _read_index(records, stamp if stamp_of(root) == stamp else None)
        if meanwhile is not None:
            meanwhile(index)
        try:
            paths = frozenset(finish(untracked, root, "ls-files", seconds=_RULES_SECONDS).split(b"\0")[:-1])
        except SlowGitError:  # as where many rules have `**/`: by our own walk
            tracked = index.others.union(map(index.bytes_of, index.tracked))
            paths = frozenset(path for path in files_of_worktree(root) if path not in tracked)
        if without is not None:
            below = os.fsencode(without.relative_to(root)) + b"/"
            paths = frozenset([path for path in paths if not path.startswith(below)])
        head, changes, is_touched = _changes(finish(status, root, "status"))
    if index.stamp is not None and stamp_of(root) != index.stamp:
        return worktree(root, None, meanwhile, without=without)
    return Worktree(head, not is_touched and not paths, index, frozenset(changes) | paths)


def _read_index(records: bytes, stamp: Stamp | None) -> Index:
    tracked: dict[str, str] = {}
    unwatched: dict[str, str] = {}
    irregular_paths: set[bytes] = set()
    odd: dict[str, bytes] = {}
    for raw, record in zip(records.split(b"\0"), text_of(records).split("\0")[:-1], strict=False):
        # A plain file that is in sight and in no conflict is "H 100644 <40 or 64 hex> 0\tpath", or 100755.
        about, _, path = record.partition("\t")
        if about[:5] == "H 100" and about[-2:] == " 0":
            tracked[path] = about[9:-2]
            if "\\x" in path:
                odd[path] = raw.partition(b"\t")[2]
        else:
            irregular_paths.add(raw.partition(b"\t")[2])
            if about[1:5] == " 100" and about[-2:] == " 0":
                unwatched[path] = about[9:-2]
    for raw_path in irregular_paths:
        tracked.pop(text_of(raw_path), None)
    return Index(stamp, tracked, frozenset(irregular_paths), unwatched, odd)


def stamp_of(root: Path) -> Stamp | None:
    """Changes whenever git writes its index, checks something else out, commits, or gets other ignore rules."""
    try:
        folder, common = _git_folders(root)
        head = (folder / "HEAD").read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    places = [folder / "index", common / "packed-refs", common / "info" / "exclude", common / "config"]
    if head.startswith("ref: "):
        places.append(common / head[5:])
    return (head, *map(_written, places))


def _git_folders(root: Path) -> tuple[Path, Path]:
    """Return where git keeps what it knows of a worktree, and of the whole repository."""
    folder = root / ".git"
    if folder.is_file():
        folder = root / folder.read_text("utf-8").partition("gitdir:")[2].strip()
    common = folder
    if (folder / "commondir").exists():
        common = folder / (folder / "commondir").read_text("utf-8").strip()
    return folder, common


def folders_of(root: Path) -> tuple[Path, Path] | None:
    """Return where git keeps a worktree's own files, and the whole repository's, links resolved; None outside git."""
    try:
        worktree_folder, common = (path.resolve() for path in _git_folders(root))
    except (OSError, ValueError, RuntimeError):  # not readable, not UTF-8, a null byte, a loop of links
        return None
    return (worktree_folder, common) if worktree_folder.is_dir() and common.is_dir() else None


def common_folder(root: Path) -> Path | None:
    """Return where git keeps what the worktrees of a repository share; None outside git."""
    _, common = folders_of(root) or (None, None)
    return common


def _written(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _changes(status: bytes) -> tuple[str, set[bytes], bool]:
    """Return the commit, the paths whose content may differ from the index, and whether any path is mentioned."""
    head = ""
    changes: set[bytes] = set()
    is_touched = False
    for line in status.split(b"\0")[:-1]:
        kind = line[:1]
        if kind == b"#":
            if line.startswith(b"# branch.oid ") and line[13:14] != b"(":
                head = line[13:].decode()
            continue
        path = line.split(b" ", 10 if kind == b"u" else 8)[-1]
        is_touched = True
        if kind == b"u" or line[3:4] != b".":
            changes.add(path)
    return head, changes, is_touched


def text_of(path: bytes) -> str:
    r"""Return a path as text; bytes that are not UTF-8 are written as \xNN."""
    return path.decode("utf-8", "backslashreplace")
