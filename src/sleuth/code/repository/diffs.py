"""Which lines of which files a diff touches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from sleuth.code.repository.git import text_of
from sleuth.code.repository.process import filters_off, run

_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")
_DIFF: Final = ("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0")

Lines = dict[str, list[range]]
"""Lines that a change touches in the new version of each file, by path."""


def lines_of_diff(diff: str) -> Lines:
    """Return the lines that a unified diff touches in the new files; where lines are removed, the line before."""
    lines: Lines = {}
    path = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[4:].partition("\t")[0].removeprefix('"').removesuffix('"').removeprefix("b/")
            path = "" if name == "/dev/null" else name
        elif path and (hunk := _HUNK.match(line)):
            first, count = int(hunk["first"]), int(hunk["count"] or 1)
            lines.setdefault(path, []).append(range(max(first, 1), first + max(count, 1)))
    return lines


def diff_since(root: Path, revision: str) -> str:
    """Return the diff from a revision to the worktree, or between two as in `A..B`, without context.

    Raises:
        CodeError: git does not know the revision.
    """
    options = ("-c", "core.quotePath=false", *filters_off(root), *_DIFF)
    return text_of(run(root, *options, "--end-of-options", revision, "--"))
