"""Lists the commits that touched a file, or some lines of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sleuth.arguments import check_count
from sleuth.code.repository import git
from sleuth.code.repository.process import filters_off, run

_FIELDS = "%H%x1f%aI%x1f%an%x1f%s%x1f%b%x1e"


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


def commits_of(
    root: Path, path: str, *, revision: str = "HEAD", lines: tuple[int, int] | None = None, most: int = 20
) -> list[Commit]:
    """Return the newest commits that touched a file, newest first; renames are followed.

    Args:
        path: relative to `root`.
        revision: a commit, branch or tag; only its ancestors are listed.
        lines: the first and last line, 1-based, as they stand in `revision`; the whole file where None.
        most: how many.

    Raises:
        CodeError: an unknown revision, lines that the file does not have, or git failed.
    """
    check_count(most, "most", least=1)
    options = ["log", "--no-ext-diff", "--no-textconv", "--no-patch", "--no-show-signature"]
    options += [f"--max-count={most}", f"--format={_FIELDS}"]
    if lines is not None:
        first, last = lines
        options += [f"-L{first},{last}:{path}", "--end-of-options", revision]
    else:
        options += ["--follow", "--end-of-options", revision, "--", path]
    listed = run(root, "--literal-pathspecs", *filters_off(root), *options)
    records = git.text_of(listed).split("\x1e")
    return [Commit(*record.strip("\n").split("\x1f")) for record in records if "\x1f" in record]
