"""Is a line that a fix changes among the first hits? Over commits that say they fix something, by their subject.

python -m benchmarks.code_fixes --mirrors MIRRORS --work FOLDER    commits that are not indexed in FOLDER are indexed

Mirrors lie in one folder: `git clone --mirror https://github.com/pallets/click MIRRORS/click`. Of each, up to 14 of the
newest fixes count that change up to 60 lines of up to 3 files of code. The question is the subject without its prefix
and numbers; it is asked at the parent, by words. A line that is added stands for the one before it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.code_lines import changed_lines
from sleuth.code import CodeRetriever
from sleuth.code.parsing.labels import category_of
from sleuth.code.parsing.languages import language_of
from sleuth.code.repository.sources import CommitSource
from sleuth.code.snapshots.indexing import index_source
from sleuth.engine import open_code

FIXES = 14
FILES = 3
LINES = 60
KS = (1, 5, 10)
_FIX = re.compile(r"\b(fix(es|ed)?|bug|crash|regression|wrong|incorrect(ly)?|broken|leak)\b", re.I)
_OTHER = re.compile(
    r"typo|lint|docs?\b|readme|changelog|\bci\b|test|format|warning|build|deps|bump|comment|revert|release|merge",
    re.I,
)
_PREFIX = re.compile(r"\s*\(?#\d+\)?|^\w+(\([^)]*\))?!?:\s*")


class Fix(NamedTuple):
    """A commit that fixes something: its parent, what it says, and the lines that it changes, by path."""

    parent: str
    subject: str
    lines: dict[str, set[int]]


def fixes_of(mirror: Path) -> Iterator[Fix]:
    """Yield the fixes on the main line of a mirror, the newest first."""
    for row in _git(mirror, "log", "--first-parent", "--format=%H%x01%P%x01%s%x01%b%x02").split("\x02"):
        commit, _, facts = row.strip().partition("\x01")
        parents, _, text = facts.partition("\x01")
        subject, _, body = text.partition("\x01")
        if subject.startswith("Merge pull request"):
            subject = body.strip().partition("\n")[0]
        question = _PREFIX.sub("", subject).strip()
        if (
            parents
            and _FIX.search(subject)
            and not _OTHER.search(subject)
            and 4 <= len(question.split()) <= 25
        ):
            parent = parents.split()[0]
            patch = _git(mirror, "diff", "--no-renames", "--unified=1", parent, commit)
            lines = {path: places for path, places in changed_lines(patch).items() if _is_code(path)}
            if 0 < len(lines) <= FILES and sum(map(len, lines.values())) <= LINES:
                yield Fix(parent, question, lines)


def _is_code(path: str) -> bool:
    language = language_of(path)
    return language is not None and category_of(path, language.name) == "code"


def _git(mirror: Path, *arguments: str) -> str:
    command = ["git", "-C", str(mirror), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    print(
        "| repository | fixes | "
        + " | ".join(f"@{k}" for k in KS)
        + " | lines of five |\n|---|---|---|---|---|---|"
    )
    rows: list[list[float]] = []
    for mirror in sorted(options.mirrors.iterdir()):
        own: list[list[float]] = []
        with open_code(options.work / mirror.name, create=True) as storage:
            for fix, _ in zip(fixes_of(mirror), range(FIXES), strict=False):
                report = index_source(storage, CommitSource(mirror, fix.parent))
                hits = CodeRetriever(storage, None).retrieve(
                    fix.subject, report.repository, report.snapshot, max(KS), "keyword", explain=False
                )
                shows = [
                    any(hit.start_line <= line <= hit.end_line for line in fix.lines.get(hit.file_path, ()))
                    for hit in hits
                ]
                length = sum(hit.end_line - hit.start_line + 1 for hit in hits[:5])
                own.append([*(float(any(shows[:k])) for k in KS), length])
        rows += own
        show(mirror.name, own)
    show("all", rows)


def show(name: str, rows: list[list[float]]) -> None:
    """Print a row of the table."""
    if rows:
        *shares, length = np.mean(rows, axis=0)
        print(
            f"| {name} | {len(rows)} | {' | '.join(f'{share:.3f}' for share in shares)} | {length:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
