"""What long commands show while they run, and how Ctrl-C ends them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec

from sleuth.surfaces.cli.common import human_bytes
from sleuth.surfaces.cli.terminal import console, say

if TYPE_CHECKING:
    from types import FrameType

    from sleuth.ingest.reports import IndexProgress

P = ParamSpec("P")

WATCHED = 2.0
"""Seconds of embedding from which the time of all of it is estimated."""


class Estimate:
    """Says once how long embedding takes, where it takes more than a minute.

    Args:
        clock: tells seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started: float | None = None
        self._at_start = 0
        self._is_over = False

    def __call__(self, count: int, total: int) -> None:
        """Take the passages that have vectors, and all; vectors of a cache are among those of the first call."""
        now = self._clock()
        if self._started is None:
            self._started, self._at_start = now, count
        seconds, more = now - self._started, count - self._at_start
        if self._is_over or seconds < WATCHED or not more:
            return
        self._is_over = True
        minutes = (total - count) * seconds / more / 60
        if minutes > 1:
            say(
                f"Embedding {total:,} passages takes about {minutes:,.0f} minutes. Words find them already; "
                "Ctrl-C keeps the vectors that are made.",
                err=True,
            )


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
            whole = "" if now.total_files is None else f" of {now.total_files:,}"
            files = f"{now.files:,}{whole} files"
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
