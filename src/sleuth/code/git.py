"""What does git know about this folder? Plumbing only: nothing here writes to a repository or its worktree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
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
    try:
        bare = _run(path, "rev-parse", "--is-bare-repository").strip() == b"true"
        if bare:
            return Path(os.fsdecode(_run(path, "rev-parse", "--absolute-git-dir").strip()))
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


def head_of(root: Path) -> str | None:
    """The commit that is checked out; None where there is none yet."""
    try:
        return commit_of(root, "HEAD")
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


def worktree(root: Path) -> list[bytes]:
    """Paths of the worktree that git tracks or would add, relative to `root`, in order."""
    out = _run(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return sorted(set(filter(None, out.split(b"\0"))))


def is_clean(root: Path) -> bool:
    """Whether the worktree is what is checked out, untracked files included."""
    return not _run(root, "status", "--porcelain", "-z", "--untracked-files=normal")


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


def _run(folder: Path, *arguments: str) -> bytes:
    where = folder if folder.is_dir() else folder.parent
    try:
        done = subprocess.run(  # noqa: S603 - arguments are a list, and revisions follow --end-of-options
            ["git", "-C", str(where), *arguments],  # noqa: S607 - git is found on the path
            capture_output=True,
            check=False,
            env=_environment(),
        )
    except OSError as error:
        raise CodeError(
            f"git cannot be run: {error.strerror}; install git or index a plain folder"
        ) from error
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip() or f"exit status {done.returncode}"
        raise CodeError(f"git {arguments[0]} in {where}: {message}")
    return done.stdout
