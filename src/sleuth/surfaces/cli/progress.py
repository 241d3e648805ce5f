"""What long commands show while they run, and how Ctrl-C ends them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec

from sleuth.surfaces.cli.common import human_bytes
from sleuth.surfaces.cli.terminal import console

if TYPE_CHECKING:
    from types import FrameType

    from sleuth.ingest import IndexProgress

P = ParamSpec("P")


class CtrlC:
    """Delays Ctrl-C until the current file is done, so that what was read is kept; a second Ctrl-C ends at once.

    Attributes:
        pressed: whether Ctrl-C was pressed.
    """

    def __init__(self) -> None:
        self.pressed = False

    def __enter__(self) -> CtrlC:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is signal.default_int_handler:  # else it is ignored, or has a handler
            signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _press(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def heeded(self, tell: Callable[P, None] | None) -> Callable[P, None]:
        """Wrap a progress callback; it raises KeyboardInterrupt only between commits, once Ctrl-C was pressed."""

        def callback(*args: P.args, **kwargs: P.kwargs) -> None:
            if tell is not None:
                tell(*args, **kwargs)
            if self.pressed:
                raise KeyboardInterrupt

        return callback


@contextmanager
def progress_bar(
    *, visible: bool
) -> Iterator[tuple[Callable[[IndexProgress], None] | None, Callable[[int, int], None] | None]]:
    """Show a bar on a terminal, of files and then of passages embedded; show nothing in a pipe."""
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
            total = "" if now.total_files is None else f" of {now.total_files:,}"
            files = f"{now.files:,}{total} files"
            bar.update(task, completed=now.files, total=now.total_files, rate=f"{rate}/s", files=files)

        def embedding(done: int, total: int) -> None:
            text = f"embedding {done:,} of {total:,} passages"
            bar.update(task, completed=done, total=total, rate="", files=text)

        yield show, embedding


@contextmanager
def download_bar(*, visible: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show bytes as they arrive, on a terminal; show nothing in a pipe."""
    err = console(stderr=True)
    if not (visible and err.is_terminal):
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(bar_width=None), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
