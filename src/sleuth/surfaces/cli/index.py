"""sleuth index: read files and folders into the index."""

from __future__ import annotations

import math
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    TimeoutOption,
    from_here,
    human_bytes,
    print_json,
)
from sleuth.surfaces.cli.places import index_path
from sleuth.surfaces.cli.skips import grouped
from sleuth.surfaces.cli.terminal import console, say
from sleuth.text import clean_text

if TYPE_CHECKING:
    from types import FrameType

    from sleuth.ingest import IndexProgress, IndexReport

P = ParamSpec("P")

EXAMPLES = """[bold]Examples[/bold]

  sleuth index docs/ README.md              again later: only what changed is read
  sleuth index --prune docs/                also forget files that are gone
  sleuth index data.csv --text-field body --metadata-field year
  sleuth index src/ --analyzer code         identifiers split and kept whole
  sleuth index --re-embed --embedder ollama:nomic-embed-text
"""


@app.command("index", epilog=EXAMPLES)
def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files and folders to read. Without any, only vectors that are missing are made."
        ),
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Delete documents whose file is gone.")] = False,
    include: Annotated[
        list[str] | None, typer.Option("--include", help="Only files that match, as in '*.md'.")
    ] = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude", help="No files that match.")] = None,
    text_field: Annotated[
        list[str] | None, typer.Option("--text-field", help="Columns or keys of a row that are its text.")
    ] = None,
    metadata_field: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata-field",
            help="Columns or keys of a row kept as metadata; in CSV and TSV, numbers where cells are written so.",
        ),
    ] = None,
    id_field: Annotated[
        str | None, typer.Option("--id-field", help="Column or key that names a row.")
    ] = None,
    max_size: Annotated[
        float | None, typer.Option("--max-size", help="Skip files above this many MB.")
    ] = None,
    analyzer: Annotated[
        str | None, typer.Option("--analyzer", help="english, plain or code; for a new index.")
    ] = None,
    chunk_size: Annotated[
        int | None, typer.Option("--chunk-size", help="Tokens per passage; for a new index.")
    ] = None,
    timeout: TimeoutOption = 10.0,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--embedder", help='"wordllama", "" for words alone, "ollama:MODEL" …; for a new index.'
        ),
    ] = None,
    re_embed: Annotated[
        bool,
        typer.Option(
            "--re-embed", help="Make all vectors anew, by --embedder if given, else by the index's own."
        ),
    ] = False,
    hidden: Annotated[bool, typer.Option("--hidden", help="Read names that start with a dot, too.")] = False,
    no_ignore: Annotated[
        bool, typer.Option("--no-ignore", help="Read what .gitignore leaves out; .sleuthignore holds.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name each file that is skipped.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    json: JsonOption = False,
    folder: IndexOption = None,
) -> None:
    """Read files and folders into the index. Unchanged files cost nothing, changed ones are replaced."""
    from sleuth.engine import Engine
    from sleuth.ingest import IndexInterrupted, ReadOptions, present, roots_of

    given = {"analyzer": analyzer, "chunk_size": chunk_size}
    settings = {name: value for name, value in given.items() if value is not None}
    if max_size is not None and not 0 < max_size < math.inf:
        raise ArgumentError(f"--max-size must be a number of MB above 0, got {max_size}")
    fields: dict[str, Any] = {
        "include": include,
        "exclude": exclude,
        "text_fields": text_field,
        "metadata_fields": metadata_field,
        "id_field": id_field,
        "hidden": hidden,
        "gitignore": not no_ignore,
        "max_bytes": None if max_size is None else int(max_size * 1_000_000),
    }
    paths = paths or []
    options = ReadOptions(**{name: value for name, value in fields.items() if value is not None})
    if not index_path(folder).exists():  # no new index for nothing
        if not paths:
            raise ArgumentError("paths must name files or folders that exist, got none")
        present(roots_of(paths), (), prune=False)
    with Engine.open(
        index_path(folder),
        create=bool(paths),
        settings=settings or None,
        embedder=embedder,
        re_embed=re_embed,
    ) as engine:
        with CtrlC() as ctrl_c, progress_bar(visible=not (quiet or json)) as (progress, embedding):
            try:
                report = engine.index(
                    paths,
                    options=options,
                    prune=prune,
                    progress=ctrl_c.heeded(progress),
                    embedding=ctrl_c.heeded(embedding),
                    timeout=timeout,
                )
                report.interrupted = ctrl_c.pressed
            except IndexInterrupted as interruption:
                report = interruption.report
        if report.interrupted:
            engine.close(finish=False)
        if json:
            print_json(report.to_dict())
        elif not quiet:
            print_report(report, from_here(str(engine.path)), read=bool(paths))
            print_left_out(report)
            offer_code(paths)
    print_skipped(report, verbose=verbose)
    if report.interrupted:
        # What was embedded anew is not to be forgotten again.
        command = shlex.join(["sleuth", *(word for word in sys.argv[1:] if word != "--re-embed")])
        say(f"Interrupted. What was committed is kept; go on with: {command}", err=True)
        raise typer.Exit(130)
    failed = any(skipped.kind != "empty" for skipped in report.skipped)
    if failed and not (report.read or report.unchanged):
        raise typer.Exit(1)


def offer_code(paths: list[Path]) -> None:
    """Say of repositories that there is a command that understands their code."""
    for path in paths:
        if (path / ".git").exists():
            hint = (
                f"{path} is a git repository; for its code, definitions and history: sleuth code index {path}"
            )
            console(stderr=True).print(hint, markup=False, soft_wrap=True)


class CtrlC:
    """Ctrl-C waits until a file is done, so that all that was read is kept; pressed again, it does not.

    Attributes:
        pressed: whether it was.
    """

    def __init__(self) -> None:
        self.pressed = False

    def __enter__(self) -> CtrlC:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is signal.default_int_handler:  # else it is to be ignored, or somebody else's
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def heeded(self, tell: Callable[P, None] | None) -> Callable[P, None]:
        """What tells of progress, which is where nothing is half done; it ends the work once Ctrl-C was pressed."""

        def told(*args: P.args, **kwargs: P.kwargs) -> None:
            if tell is not None:
                tell(*args, **kwargs)
            if self.pressed:
                raise KeyboardInterrupt

        return told


@contextmanager
def progress_bar(
    *, visible: bool
) -> Iterator[tuple[Callable[[IndexProgress], None] | None, Callable[[int, int], None] | None]]:
    """A bar with rate and time left on a terminal, of files and then of passages embedded; nothing in a pipe."""
    err = console(stderr=True)
    if not (visible and err.is_terminal):
        yield None, None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.fields[files]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None, rate="0 B/s", files="0 files")

        def show(now: IndexProgress) -> None:
            rate = human_bytes(now.bytes / now.seconds) if now.seconds else "0 B"
            whole = "" if now.total_files is None else f" of {now.total_files:,}"
            files = f"{now.files:,}{whole} files"
            bar.update(task, completed=now.files, total=now.total_files, rate=f"{rate}/s", files=files)

        def embedding(done: int, total: int) -> None:
            told = f"embedding {done:,} of {total:,} passages"
            bar.update(task, completed=done, total=total, rate="", files=told)

        yield show, embedding


def print_report(report: IndexReport, path: str, *, read: bool) -> None:
    """What the run did, where it was to read files, and what the index holds now."""
    parts = [
        f"{count:,} {word}"
        for count, word in (
            (report.added, "added"),
            (report.updated, "updated"),
            (report.unchanged, "unchanged"),
            (report.deleted, "deleted"),
            (report.pruned, "pruned"),
        )
        if count or word == "added"
    ]
    out = console()
    if read:
        out.print(
            f"{', '.join(parts)} in {report.seconds:.1f} s ({human_bytes(report.bytes)} read).", markup=False
        )
    out.print(
        f"{report.documents:,} documents, {report.passages:,} passages in {path}",
        markup=False,
        soft_wrap=True,
    )


def print_left_out(report: IndexReport) -> None:
    """How many names ignore files and a leading dot left out, and what reads them."""
    counts = (
        (report.hidden, "hidden (--hidden reads them)"),
        (report.ignored, "ignored (--no-ignore reads them)"),
    )
    if parts := [f"{count:,} {words}" for count, words in counts if count]:
        say(f"Left out {', '.join(parts)}.", err=True)


def print_skipped(report: IndexReport, *, verbose: bool) -> None:
    """What could not be read: a line for each kind and reason, or for each file."""
    if not report.skipped:
        return
    lines = (
        [f"{each.source}: {each.reason}" for each in report.skipped] if verbose else grouped(report.skipped)
    )
    more = "" if verbose or len(lines) == len(report.skipped) else " (each one with --verbose)"
    say(f"Skipped {len(report.skipped):,}{more}:", err=True)
    for line in lines:
        say(f"  {clean_text(' '.join(line.split()))}", err=True)
