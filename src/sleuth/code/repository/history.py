"""Lists the commits that touched a file, some lines of it, or anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sleuth.arguments import check_count
from sleuth.code.repository import git
from sleuth.code.repository.process import filters_off, run
from sleuth.errors import ArgumentError

_FIELDS: Final = "%H%x00%aI%x00%an%x00%s%x00%b"
_MARK: Final = "\x01"
_LOG: Final = ("log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "-z")


class Commit(NamedTuple):
    """A commit that touched something.

    Attributes:
        id: in full.
        date: of its author, ISO 8601.
        subject, body: its message.
    """

    id: str
    date: str
    author: str
    subject: str
    body: str

    @property
    def message(self) -> str:
        """Its subject and body."""
        return f"{self.subject}\n\n{self.body}".rstrip()


def commits_of(
    root: Path,
    path: str,
    *,
    revision: str = "HEAD",
    lines: tuple[int, int] | None = None,
    text: str = "",
    most: int = 20,
) -> list[Commit]:
    """Return the newest commits that touched a file, newest first; renames are followed.

    Args:
        path: relative to `root`.
        revision: a commit, branch or tag; only its ancestors are listed.
        lines: the first and last line, 1-based, as they stand in `revision`; the whole file where None.
        text: only commits that added or removed this text; any where empty.
        most: how many.

    Raises:
        ArgumentError: `text` with `lines`, which git does not combine.
        CodeError: an unknown revision, lines that the file does not have, or git failed.
    """
    check_count(most, "most", least=1)
    if text and lines is not None:
        raise ArgumentError(f"text must be empty for some lines of a file, got {text!r}; leave out the lines")
    options = ["--no-patch", f"--max-count={most}", f"--format={_FIELDS}"]
    if text:
        options.append(f"-S{text}")
    if lines is not None:
        first, last = lines
        options += [f"-L{first},{last}:{path}", "--end-of-options", revision]
    else:
        options += ["--follow", "--end-of-options", revision, "--", path]
    return _commits(run(root, "--literal-pathspecs", *filters_off(root), *_LOG, *options))


def commits_before(root: Path, revision: str, *, most: int, path: str = "") -> list[Commit]:
    """Return the newest ancestors of a revision, itself included, newest first.

    Args:
        most: how many.
        path: only those that touched something at or below this path; any where empty.

    Raises:
        CodeError: an unknown revision, or git failed.
    """
    options = [f"--max-count={most}", f"--format={_FIELDS}", "--end-of-options", revision]
    below = ["--", path] if path else []
    return _commits(run(root, "--literal-pathspecs", *_LOG, *options, *below))


def paths_touched(root: Path, commits: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the paths that each of these commits touched; a merge touched none by itself."""
    paths: dict[str, tuple[str, ...]] = dict.fromkeys(commits, ())
    if not commits:
        return paths
    options = ("--no-walk=unsorted", "--no-renames", "--name-only", f"--format={_MARK}%H")
    commit = ""
    for entry in git.text_of(run(root, *_LOG, *options, "--end-of-options", *commits)).split("\0"):
        if entry[:1] == _MARK and entry[1:] in paths:
            commit = entry[1:]
        elif entry:
            paths[commit] += (entry.removeprefix("\n"),)
    return paths


def _commits(listed: bytes) -> list[Commit]:
    fields = git.text_of(listed).split("\0")
    size = len(Commit._fields)
    return [Commit(*fields[at : at + size]) for at in range(0, len(fields) - size + 1, size)]
