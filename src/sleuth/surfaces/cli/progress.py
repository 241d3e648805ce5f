"""What long commands show while they run, how Ctrl-C ends them, and what was saved below folders, for `--watch`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, ParamSpec

from sleuth.surfaces.cli.common import console, human_bytes, say
from sleuth.surfaces.cli.files import from_here
from sleuth.surfaces.cli.options import options_from
from sleuth.text import clean_text
from sleuth.text.clean import escape_text

if TYPE_CHECKING:
    from types import FrameType

    from sleuth.ingest import IndexProgress

P = ParamSpec("P")

Show = Callable[..., None]
"""Shows how far a command is: a text, then how much is done, and the total, None where nobody knows it."""


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


_MANY_CHANGES: Final = 1_000
_STARTED_MS: Final = 200
"""Milliseconds without a change after which the first look at everything is due."""
_TOOLS: Final = frozenset({".git", ".sleuth"})
"""Folders that Sleuth and git write themselves."""
_HIDDEN: Final = _TOOLS | {"node_modules", "__pycache__"}


def changes_below(
    roots: Sequence[Path], apart: Path | None = None, *, quiet: bool = False
) -> Iterator[list[str] | None]:
    """Yield the absolute paths that changed below some roots, once per burst of changes.

    None stands for anything: at first, since files may have changed before the watch began, and where there are so
    many changes that some may have been lost. Bursts of git's own files, of the index or of other tools alone are
    left out. Ctrl-C raises KeyboardInterrupt.

    Args:
        roots: files and folders. A file may be replaced by another one of its name.
        apart: a folder inside them that is not looked at, such as the index.
        quiet: do not print on standard error what is watched.
    """
    from sleuth.errors import requires

    with requires("watchfiles", "watch", "--watch"):
        import watchfiles
    if not quiet:
        names_of_roots = ", ".join(clean_text(from_here(str(root))) for root in roots)
        say(f"Watching {names_of_roots} ... Ctrl-C ends it", err=True)
    notable = watchfiles.DefaultFilter()
    places = [root.resolve() for root in roots]
    folders = [place if place.is_dir() else place.parent for place in places]
    is_first, names = True, set()
    for changes in watchfiles.watch(
        *dict.fromkeys(folders),
        watch_filter=None,
        debounce=100,
        step=20,
        rust_timeout=_STARTED_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
        recursive=any(place.is_dir() for place in places),
    ):
        is_notable = is_first
        for change, name in changes:
            inside = _inside(Path(name), places, apart)
            if inside is None or not _TOOLS.isdisjoint(inside.parts):
                continue
            names.add(name)
            if _HIDDEN.isdisjoint(inside.parts) and notable(change, str(inside)):
                is_notable = True
        if is_notable:
            yield None if is_first or len(names) > _MANY_CHANGES else list(names)
            is_first = False
            names.clear()


def _inside(path: Path, places: Sequence[Path], apart: Path | None) -> Path | None:
    """Return a path relative to the root that is the path or contains it, or None."""
    if apart is not None and path.is_relative_to(apart):
        return None
    for place in places:
        if path == place:
            return Path(path.name)
        if path.is_relative_to(place):
            return path.relative_to(place)
    return None
