"""What long commands show while they run, how Ctrl-C ends them, and what was saved below folders, for `--watch`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, ParamSpec

from sleuth.files.watching import changes_below
from sleuth.ingest.roots import is_address
from sleuth.surfaces.cli.common import console, human_bytes, one_line, say
from sleuth.surfaces.cli.options import options_from
from sleuth.surfaces.cli.places import from_here
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from sleuth.ingest import IndexProgress

P = ParamSpec("P")

Show = Callable[..., None]
"""Shows how far a command is: a text, then how much is done, and the total, None where nobody knows it."""


class CtrlC:
    """Delays Ctrl-C and SIGTERM until the current file is done, and what was read kept; a second one ends at once."""

    pressed = False
    """Whether Ctrl-C was pressed."""

    def __enter__(self) -> CtrlC:
        self._handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number, handler in self._handlers.items():
            if handler is signal.default_int_handler:  # else it is ignored, or has a handler
                signal.signal(number, self._press)
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _press(self, *_: object) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def heeded(self, tell: Callable[P, None]) -> Callable[P, None]:
        """Wrap a progress callback; it raises KeyboardInterrupt only between commits, once Ctrl-C was pressed."""

        def callback(*args: P.args, **kwargs: P.kwargs) -> None:
            tell(*args, **kwargs)
            if self.pressed:
                raise KeyboardInterrupt

        return callback


@contextmanager
def progress_bar(*, quiet: bool = False, json: bool = False) -> Iterator[Show]:
    """Show a bar on a terminal, with a text beside it that the caller sets; show nothing in a pipe."""
    if quiet or json or not sys.stderr.isatty():
        yield lambda text, done=0, total=None: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=None),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(text: str, done: int = 0, total: int | None = None) -> None:
            is_new = bar.tasks[0].total != total  # a short step is drawn, too
            bar.update(task, description=escape_text(text), completed=done, total=total, refresh=is_new)

        yield show


Bar = Annotated[Show, options_from(progress_bar)]
"""The bar of a command that takes long; it is gone when the answer is printed."""


def files_read(show: Show) -> Callable[[IndexProgress], None]:
    """Return a callback that shows how many files are read, and how fast."""

    def callback(now: IndexProgress) -> None:
        rate = human_bytes(now.bytes / now.seconds) if now.seconds else "0 B"
        total = "" if now.total_files is None else f" of {now.total_files:,}"
        show(f"{now.files:,}{total} files, {rate}/s", now.files, now.total_files)

    return callback


def shows_bytes(show: Show) -> Callable[[int, int], None]:
    """Return a callback that shows how many bytes have come."""
    return lambda done, total: show(f"{human_bytes(done)} of {human_bytes(total)}", done, total)


_ASK_SECONDS: Final = 60.0
"""Between two questions to an address, which cannot tell by itself that something is new: as programs of mail ask."""


def changes_seen(
    roots: Sequence[str], apart: Path | None = None, *, quiet: bool = False
) -> Iterator[list[str] | None]:
    """Yield what `changes_below` yields for files, folders and addresses; say on standard error what is watched."""
    places = [Path(root) for root in roots if not is_address(root)]
    changes = changes_below(places, apart, every=_ASK_SECONDS if len(places) < len(roots) else None)
    if not quiet:
        names = ", ".join(one_line(from_here(root)) for root in roots)
        say(f"Watching {names} ... Ctrl-C ends it", err=True)
    return changes
