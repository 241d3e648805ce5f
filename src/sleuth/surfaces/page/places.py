"""Where things stand: paths begin with the name of the folder that was indexed, and not at the root of the server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile
from typing import Any
from urllib.parse import urlencode

from sleuth.errors import StoreError
from sleuth.surfaces.hits import Location, place_of
from sleuth.surfaces.http import Call


def stale_files(call: Call) -> int:
    """Return how many files of the code that a caller sees changed since they were indexed.

    The files are compared beside the search, and nothing waits for that: a change may show a page later.
    """
    return (call.freshness.stale.files or 0) if call.key.sees_code else 0


def roots_of(call: Call) -> list[str]:
    """Return the names of the folders of documents that are indexed, the longest first."""
    with suppress(StoreError):  # a published index has none
        return sorted((root.name for root in call.service.engine.roots()), key=len, reverse=True)
    return []


def short(path: str, roots: Sequence[str]) -> str:
    """Return an absolute path from the name of its root on; other paths as they are."""
    root = next((root for root in roots if f"{path}/".startswith(f"{root}/")), "")
    return path[root.rfind("/") + 1 :] if root.startswith("/") else path


def shown_place(id: str, metadata: Mapping[str, Any], roots: Sequence[str]) -> Location:
    """Return the place of an item; web pages have no lines."""
    place = place_of(id, metadata)
    first_line, _, last_line = place.lines.partition("-")
    lines = "" if "://" in place.path else first_line if first_line == last_line else place.lines
    return replace(place, path=short(place.path, roots), lines=lines)


def browse_url(path: str) -> str:
    """Return the address of the list of a file's folder; "" without a folder."""
    folder, slash, _ = path.rpartition("/")
    return "" if "://" in path or not folder else f"/browse?{urlencode({'under': folder + slash})}"


def folders_below(places: Mapping[str, int], under: str) -> list[tuple[str, int]]:
    """Return the folders right below one, each with its sum; a folder that holds one folder alone is joined to that.

    Args:
        places: numbers by path.
        under: the folder with its slash, which all paths begin with; "" for all.
    """
    groups: dict[str, list[str]] = {}
    for path in filter(lambda path: "://" not in path, places):
        name, slash, _ = path[len(under) + 1 :].partition("/")  # the root of the disk is no folder
        if slash:
            groups.setdefault(path[len(under)] + name, []).append(path)
    return [(shared_folder(paths), sum(map(places.__getitem__, paths))) for paths in groups.values()]


def shared_folder(paths: Iterable[str]) -> str:
    """Return the folder, with its slash, that all paths are in; "" for none."""
    levels = zip(*(path.split("/")[:-1] for path in paths), strict=False)
    return "".join(f"{level[0]}/" for level in takewhile(lambda level: len(set(level)) == 1, levels))
