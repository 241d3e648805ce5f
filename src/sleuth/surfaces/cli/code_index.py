"""What `sleuth code index` does: parses behind a progress bar, and reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sleuth.surfaces.cli.common import print_json
from sleuth.surfaces.cli.terminal import console, say

if TYPE_CHECKING:
    from sleuth.code import CodeIndexReport, CodeStorage


def embed_snapshot(storage: CodeStorage, report: CodeIndexReport) -> None:
    """Make the vectors of a snapshot with the default embedder."""
    from sleuth.code.search import chunk_vectors
    from sleuth.engine import default_embedder

    repository = storage.repository(report.repository)
    snapshot = storage.snapshot(repository, report.snapshot)
    chunk_vectors(storage.open_snapshot(repository, snapshot), default_embedder())


def index_with_bar(
    storage: CodeStorage, path: Path, rev: str | None, workers: int | None, timeout: float, *, quiet: bool
) -> CodeIndexReport:
    from rich.progress import Progress

    from sleuth.code import index_path as index_code

    err = console(stderr=True)
    with Progress(console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("parsing", total=None)
        return index_code(
            storage,
            path,
            revision=rev,
            workers=workers,
            timeout=timeout,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def print_report(report: CodeIndexReport, *, json: bool) -> None:
    if json:
        print_json(report.to_dict())
        return
    from sleuth.code.parsing import UNPARSED
    from sleuth.ingest import Skipped
    from sleuth.surfaces.cli.skips import grouped
    from sleuth.text import clean_text

    names = f" ({', '.join(report.names)})" if report.names else ""
    say(
        f"{report.path} at {report.snapshot[:20]}{names}: {report.files} files, {report.added} new, "
        f"{report.chunks} chunks, {len(report.skipped)} skipped, {report.seconds:.2f} s"
    )
    unparsed = [Skipped(path, reason) for path, reason in report.skipped if reason.startswith(UNPARSED)]
    for line in grouped(unparsed):
        say(f"  {clean_text(line)}", err=True)
