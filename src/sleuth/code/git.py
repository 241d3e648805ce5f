"""What does git know about this folder? Plumbing only: nothing here writes to a repository or its worktree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sleuth.errors import CodeError


class Entry(NamedTuple):
    """A file of a tree: mode ("100644", "120000" a link, "160000" a submodule), object id in hex, path."""

    mode: str
    object_id: str
    path: str


def root_of(path: Path) -> Path | None:
    """The top of the worktree that `path` is in, or the bare repository itself; None outside git."""
    if (path / ".git" / "HEAD").is_file():
        return path.resolve()
    # One call for all three: the last fails in a bare repository, after the others have been answered.
    asked = ("rev-parse", "--is-bare-repository", "--absolute-git-dir", "--show-toplevel")
    answers = _run(path, *asked, check=False).splitlines()
    if len(answers) > 1 and answers[0] == b"true":
        return Path(os.fsdecode(answers[1]))
    if len(answers) == 3:
        return Path(os.fsdecode(answers[2]))
    try:  # outside git, or a path that holds a line break
        return Path(os.fsdecode(_run(path, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    except CodeError:
        return None


def commit_of(root: Path, revision: str) -> str:
    """The commit that a branch, tag, or abbreviated id names.

    Raises:
        CodeError: none does; says how to list them.
    """
    try:
        name = _run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except CodeError as error:
        raise CodeError(
            f"revision must be a commit, branch or tag of {root}, got {revision!r}; "
            "`git branch -a` and `git tag` list them"
        ) from error
    return name.decode().strip()


def commit_named(path: str, name: str) -> str | None:
    """The commit that git knows by a name such as `HEAD~3`; None where git knows none."""
    try:
        return commit_of(Path(path), name) if Path(path).is_dir() else None
    except CodeError:
        return None


def names_of(root: Path, commit: str) -> list[str]:
    """Branches and tags that point at a commit."""
    listed = _run(
        root, "for-each-ref", "--points-at", commit, "--format=%(refname:short)", "refs/heads", "refs/tags"
    )
    return listed.decode("utf-8", "backslashreplace").split()


def origin_of(root: Path) -> str:
    """The URL of the remote `origin`, without credentials; "" where there is none."""
    try:
        url = _run(root, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
    except CodeError:
        return ""
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url


def tree(root: Path, commit: str) -> list[Entry]:
    """All files of a commit, in order of path."""
    out = _run(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    entries = []
    for record in out.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, object_id = head.decode().split(" ")
            entries.append(Entry(mode, object_id, text_of(path)))
    return entries


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree beside what is checked out.

    Attributes:
        head: the commit that is checked out; "" where there is none yet.
        clean: whether nothing is changed, untracked files included.
        tracked: object id in hex by path: what the index says, which is what the file holds.
        others: paths that git cannot vouch for: changed, untracked, links, submodules, unmerged, left out of sight.
        odd: the bytes of tracked paths that are not UTF-8, by their text.
    """

    head: str
    clean: bool
    tracked: dict[str, str]
    others: set[bytes]
    odd: dict[str, bytes]

    def bytes_of(self, path: str) -> bytes:
        """A tracked path as git spells it."""
        return self.odd.get(path) or path.encode()


def worktree(root: Path) -> Worktree:
    """What git tracks in a worktree or would add, and which of it is not as the index says."""
    with (
        _start(root, "ls-files", "-z", "-s", "-v") as listing,
        _start(
            root, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames"
        ) as status,
    ):
        records = _finish(listing, root, "ls-files")
        head, changed, changes = _changes(_finish(status, root, "status"))
    tracked: dict[str, str] = {}
    others = changed
    odd: dict[str, bytes] = {}
    for raw, record in zip(records.split(b"\0"), text_of(records).split("\0")[:-1], strict=False):
        # "H 100644 <40 or 64 hex> 0\tpath": anything but a plain file in stage 0 that is in sight is looked at.
        about, _, path = record.partition("\t")
        if about[:6] == "H 1006" and about[-2:] == " 0":
            tracked[path] = about[9:-2]
            if "\\x" in path:
                odd[path] = raw.partition(b"\t")[2]
        else:
            others.add(raw.partition(b"\t")[2])
    for changed_path in others:
        tracked.pop(text_of(changed_path), None)
    return Worktree(head, not changes, tracked, others, odd)


def _changes(status: bytes) -> tuple[str, set[bytes], int]:
    """The commit, the paths whose content in the worktree may be other than in the index, and how many lines tell."""
    head = ""
    changed: set[bytes] = set()
    lines = 0
    for line in status.split(b"\0")[:-1]:
        kind = line[:1]
        if kind == b"#":
            if line.startswith(b"# branch.oid ") and line[13:14] != b"(":
                head = line[13:].decode()
            continue
        lines += 1
        if kind == b"?":
            changed.add(line[2:])
        elif kind == b"u":
            changed.add(line.split(b" ", 10)[10])
        elif kind == b"1" and line[3:4] != b".":
            changed.add(line.split(b" ", 8)[8])
    return head, changed, lines


def blobs(root: Path, object_ids: Iterable[str]) -> Iterator[bytes]:
    """Contents of blobs, in the order asked for.

    Raises:
        CodeError: git does not have one, as in a partial clone.
    """
    wanted = list(object_ids)
    if not wanted:
        return
    with subprocess.Popen(  # noqa: S603 - arguments are a list
        ["git", "-C", str(root), "cat-file", "--batch"],  # noqa: S607 - git is found on the path
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise CodeError(f"git at {root} gave no pipes")
        try:
            for start in range(0, len(wanted), 64):
                # In small groups, so that neither pipe fills while the other side waits.
                group = wanted[start : start + 64]
                process.stdin.write("".join(f"{i}\n" for i in group).encode())
                process.stdin.flush()
                for object_id in group:
                    head = process.stdout.readline().split()
                    if len(head) != 3:
                        raise CodeError(
                            f"git at {root} has no blob {object_id}; `git fetch --refetch` brings it"
                        )
                    yield process.stdout.read(int(head[2]))
                    process.stdout.read(1)
        finally:
            process.stdin.close()


def text_of(path: bytes) -> str:
    r"""A path as text; bytes that are not UTF-8 are written as \xNN."""
    return path.decode("utf-8", "backslashreplace")


def _environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }


def _start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    where = folder if folder.is_dir() else folder.parent
    try:
        return subprocess.Popen(  # noqa: S603 - arguments are a list, and revisions follow --end-of-options
            ["git", "-C", str(where), *arguments],  # noqa: S607 - git is found on the path
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError as error:
        raise CodeError(
            f"git cannot be run: {error.strerror}; install git or index a plain folder"
        ) from error


def _finish(process: subprocess.Popen[bytes], folder: Path, what: str, *, check: bool = True) -> bytes:
    out, problem = process.communicate()
    if process.returncode and check:
        message = problem.decode("utf-8", "replace").strip() or f"exit status {process.returncode}"
        raise CodeError(f"git {what} in {folder}: {message}")
    return out


def _run(folder: Path, *arguments: str, check: bool = True) -> bytes:
    with _start(folder, *arguments) as process:
        return _finish(process, folder, arguments[0], check=check)
