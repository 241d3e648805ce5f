"""Tells what was saved below folders, burst by burst."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from sleuth.errors import requires

_MANY_CHANGES: Final = 1_000
_STARTED_MS: Final = 200
"""Milliseconds without a change after which the first look at everything is due."""
_TOOLS: Final = frozenset({".git", ".sleuth"})
"""Folders that Sleuth and git write themselves."""
_HIDDEN: Final = _TOOLS | {"node_modules", "__pycache__"}


def changes_below(
    roots: Sequence[Path], apart: Path | None = None, *, every: float | None = None
) -> Iterator[list[str] | None]:
    """Yield the absolute paths that changed below some roots, once per burst of changes.

    None stands for anything: at first, since files may have changed before the watch began, and where there are so
    many changes that some may have been lost. Bursts of git's own files, of the index or of other tools alone are
    left out. Ctrl-C raises KeyboardInterrupt.

    Args:
        roots: files and folders. A file may be replaced by another one of its name.
        apart: a folder inside them that is not looked at, such as the index.
        every: seconds after which an empty list is yielded where nothing was saved, for what no folder tells of.

    Raises:
        MissingPackageError: watchfiles is not installed.
    """
    with requires("watchfiles", "watch", "--watch"):
        import watchfiles
    notable = watchfiles.DefaultFilter()
    places = [root.resolve() for root in roots]
    folders = [place if place.is_dir() else place.parent for place in places]
    is_first, names, told = True, set(), time.monotonic()
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
        is_notable = is_first or (every is not None and time.monotonic() >= told + every)
        for change, name in changes:
            inside = _inside(Path(name), places, apart)
            if inside is None or not _TOOLS.isdisjoint(inside.parts):
                continue
            names.add(name)
            if _HIDDEN.isdisjoint(inside.parts) and notable(change, str(inside)):
                is_notable = True
        if is_notable:
            yield None if is_first or len(names) > _MANY_CHANGES else list(names)
            is_first, told = False, time.monotonic()
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
