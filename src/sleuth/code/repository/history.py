"""Lists the commits that touched a file or some lines of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sleuth.arguments import check_count
from sleuth.code.repository.commits import Commit
from sleuth.code.repository.git import text_of
from sleuth.code.repository.process import filters_off, run
from sleuth.errors import ArgumentError, CodeError, UnknownCommitError

_FIELDS: Final = "%H%x00%aI%x00%an%x00%s%x00%b"
_LOG: Final = ("log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--encoding=UTF-8", "-z")


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
        lines: the first and last line, 1-based, in `revision`; None for the whole file.
        text: only commits that added or removed this text; any where empty.
        most: how many.

    Raises:
        ArgumentError: `text` with `lines`, which git does not combine.
        UnknownCommitError: the repository does not have the revision.
        CodeError: lines that the file does not have, or git failed.
    """
    check_count(most, "most", least=1)
    if text and lines is not None:
        raise ArgumentError(f"text must be empty for some lines of a file, got {text!r}; leave out the lines")
    options = ["--no-patch", f"--max-count={most}", f"--format={_FIELDS}"]
    if text:
        options.append(f"-S{text}")
    if lines is not None:
        first, last_line = lines
        options += [f"-L{first},{last_line}:{path}", "--end-of-options", revision]
    else:
        options += ["--follow", "--end-of-options", revision, "--", path]
    try:
        output = run(root, "--literal-pathspecs", *filters_off(root), *_LOG, *options)
    except CodeError as error:
        if run(root, *_LOG, "--max-count=1", "--format=%H", "--end-of-options", revision, check=False):
            raise
        raise UnknownCommitError(
            f"revision must be a commit, branch or tag of {root}, got {revision!r}; a commit of a snapshot is gone "
            f"after a force push and `git gc`: `sleuth code index {root}` takes the newest"
        ) from error
    fields = text_of(output).split("\0")
    size = len(Commit._fields)
    return [Commit(*fields[at : at + size]) for at in range(0, len(fields) - size + 1, size)]
