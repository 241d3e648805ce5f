"""Indexes the submodules of a repository that are checked out, each as a repository of its own."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sleuth.code.repository import git
from sleuth.code.repository.listing import SUBMODULE
from sleuth.code.repository.process import run
from sleuth.code.repository.sources import Source, source_at
from sleuth.code.snapshots.report import CodeIndexReport
from sleuth.errors import ArgumentError, CodeError, UnknownSnapshotError

LEFT_OUT = f"{SUBMODULE}, not indexed: "
"""How the reason begins for which a submodule was not indexed."""
MOST = 200
"""Submodules of one run, those of submodules included."""
DEEPEST = 8
"""Submodules within submodules."""


def index_submodules(
    report: CodeIndexReport, index: Callable[[Source], CodeIndexReport], *, revision: str | None = None
) -> None:
    """Index the submodules that a report lists and that are checked out, and theirs, and add their reports to it.

    One that is not indexed is in `report.skipped` with the reason.

    Args:
        index: makes a snapshot of a source.
        revision: what the report is of; submodules are then indexed at the commit that it names. The worktree if None.
    """
    home = git.common_folder(Path(report.path))
    waiting, count = deque([(report, 0)]), 0
    while waiting and home is not None:
        above, depth = waiting.popleft()
        for position, (name, reason) in enumerate(above.skipped):
            if reason != SUBMODULE:
                continue
            if count >= MOST or depth >= DEEPEST:
                bounds = f"one run indexes at most {MOST} submodules, {DEEPEST} within one another"
                above.skipped[position] = (name, f"{LEFT_OUT}{bounds}")
                continue
            try:
                below = index(_source(above, name, home, of_commit=revision is not None))
            except (ArgumentError, CodeError, OSError) as error:
                above.skipped[position] = (name, f"{LEFT_OUT}{error}")
            else:
                count += 1
                above.submodules.append(below)
                waiting.append((below, depth + 1))


def _source(above: CodeIndexReport, name: str, home: Path, *, of_commit: bool) -> Source:
    """Return the source of a submodule: its worktree, or the commit that the indexed one names.

    Raises:
        ArgumentError, CodeError: why it is not to be indexed.
    """
    folder = submodule_at(Path(above.path), name, home)
    if not of_commit:
        return source_at(folder)
    commit = run(Path(above.path), "rev-parse", "--verify", f"{above.snapshot}:{name}").decode().strip()
    try:
        return source_at(folder, commit)
    except UnknownSnapshotError:
        raise CodeError(f"it does not have commit {commit}; `git submodule update` brings it") from None


def submodule_at(root: Path, name: str, home: Path) -> Path:
    """Return the folder of a submodule that is checked out.

    Args:
        home: where git keeps what it knows of the repository that the user named, submodules included.

    Raises:
        CodeError: it is not checked out, or a link, its `.git` or its settings lead elsewhere.
    """
    folder = root / name
    if not os.path.lexists(folder / ".git"):
        raise CodeError("it is not checked out (`git submodule update --init`)")
    places = git.folders_of(folder)
    if places is None or not all(
        place.is_relative_to(home) or place.is_relative_to(folder) for place in places
    ):
        raise CodeError("its .git leads out of the repository")
    if git.root_of(folder) != folder:
        raise CodeError("its worktree is elsewhere, by a link or `core.worktree`")
    return folder


def indexed_submodules(root: Path, paths: Collection[Path]) -> Iterator[Path]:
    """Yield those of these folders that are submodules below a worktree."""
    home = git.common_folder(root)
    for path in paths:
        if home is not None and path != root and path.is_relative_to(root):
            with suppress(CodeError):
                yield submodule_at(root, path.relative_to(root).as_posix(), home)
