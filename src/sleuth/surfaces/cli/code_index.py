"""What `sleuth code index` does: parses and reads commits behind a progress bar, and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.common import print_json
from sleuth.surfaces.cli.terminal import amount, console, say

if TYPE_CHECKING:
    from sleuth.code import CodeStorage
    from sleuth.code.snapshots.report import CodeIndexReport


def forget_snapshots(storage: CodeStorage, path: Path, *, submodules: bool) -> None:
    """Forget all snapshots of the repository at a path, and of its submodules, so that every file is parsed again."""
    from sleuth.code.repository.sources import source_at
    from sleuth.code.snapshots.submodules import indexed_submodules

    root = source_at(path).root
    repositories = {Path(repository.path): repository for repository in storage.repositories()}
    for place in [root, *(indexed_submodules(root, repositories) if submodules else ())]:
        if place in repositories:
            storage.prune(repositories[place].id, ())


@dataclass(frozen=True, slots=True)
class IndexRun:
    """What `sleuth code index` indexes, once or with each change."""

    storage: CodeStorage
    path: Path
    workers: int | None
    timeout: float
    submodules: bool
    vectors: bool

    def index(self, rev: str | None, *, quiet: bool) -> CodeIndexReport:
        """Index behind a progress bar."""
        from rich.progress import Progress

        from sleuth.code.snapshots.recording import History
        from sleuth.engine.codebase import embed_code

        err = console(stderr=True)
        with Progress(console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
            task = bar.add_task("parsing", total=None)

            def show(description: str, done: int, total: int) -> None:
                bar.update(task, description=description, completed=done, total=total)

            report = self.run(
                revision=rev,
                progress=partial(show, "parsing"),
                history=History(progress=partial(show, "commits")),
            )
            for part in report.all() if self.vectors else ():
                embed_code(self.storage, part, partial(show, "vectors"))
            return report

    def run(self, **options: Any) -> CodeIndexReport:
        """Index without vectors, which are made with a progress bar of their own or by a search.

        Args:
            **options: of `index_path`.
        """
        from sleuth.code import index_path

        return index_path(
            self.storage,
            self.path,
            workers=self.workers,
            timeout=self.timeout,
            submodules=self.submodules,
            vectors=False,
            **options,
        )


def rebuild_index(place: Path, run_over: Callable[..., IndexRun], timeout: float, *, json: bool) -> None:
    """Make a code index again from its repositories, each as it is now.

    Args:
        run_over: gives the run over a repository in a storage.

    Raises:
        ArgumentError: a repository is gone; the index stays as it is.
    """
    from sleuth.engine.codebase import rebuilt_code

    with rebuilt_code(place, timeout=timeout) as (storage, paths):
        if gone := [str(path) for path in paths if not path.exists()]:
            raise ArgumentError(
                f"--rebuild must find every repository of the index, and would lose {', '.join(gone)}: bring it back, "
                "or index the others into another folder, with --index FOLDER"
            )
        for path in paths:
            print_report(run_over(storage, path).index(None, quiet=json), json=json)


def print_report(report: CodeIndexReport, *, json: bool) -> None:
    if json:
        print_json(report.to_dict())
    else:
        for part in report.all():
            _print_lines(part)


def _print_lines(report: CodeIndexReport) -> None:
    from sleuth.code.parsing.limits import UNPARSED
    from sleuth.code.snapshots.submodules import LEFT_OUT
    from sleuth.ingest import Skipped
    from sleuth.surfaces.cli.skips import grouped
    from sleuth.text import clean_text

    names = f" ({', '.join(report.names)})" if report.names else ""
    say(
        f"{clean_text(Path(report.path).name)} at {report.snapshot[:20]}{names}: {amount(report.files, 'file')}, "
        f"{report.added} new, {amount(report.chunks, 'chunk')}, {len(report.skipped)} skipped, "
        f"{amount(report.commits, 'commit')}, {report.seconds:.2f} s"
    )
    if report.commits_left:
        say(f"  {report.commits_left} older commits are left: `sleuth code index` reads on", err=True)
    if report.history_error:
        say(f"  its history was not read: {clean_text(report.history_error)}", err=True)
    notable = [Skipped(path, reason) for path, reason in report.skipped if reason.startswith(UNPARSED)]
    lines = grouped(notable)
    lines += [f"{path}: {reason}" for path, reason in report.skipped if reason.startswith(LEFT_OUT)]
    for line in lines:
        say(f"  {clean_text(line)}", err=True)
