"""Finds files that have a twin which people mean more often: an older version, or that of another system."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_VERSION: Final = re.compile(r"v(\d{1,4})")
_WINDOWS: Final = frozenset({"win", "win32", "windows"})
_UNIX: Final = frozenset({"unix", "posix", "linux"})
_WORD: Final = re.compile(r"[a-z]+\d*")
TWIN_FACTOR: Final = 0.7
"""What a file counts that has such a twin; 1 where the query names its folder."""


class Twins:
    """The files of a snapshot below `v3` where `v4` stands beside it, and below `win` where `unix` does.

    Attributes:
        by_folder: positions of these files by the name of the folder, in lower case.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Look at the folders of all paths."""
        folders = {file.path.rpartition("/")[0] for file in snapshot.files}
        folders |= {above for folder in folders for above in _above(folder)}
        beside: dict[str, set[str]] = defaultdict(set)
        for folder in folders:
            parent, _, name = folder.rpartition("/")
            beside[parent].add(name.lower())
        older = {folder for folder in folders if _gives_way(folder, beside)}
        positions: dict[str, list[int]] = defaultdict(list)
        for i, file in enumerate(snapshot.files) if older else ():
            for folder in _above(file.path):
                if folder in older:
                    positions[folder.rpartition("/")[2].lower()].append(i)
        self.by_folder: dict[str, NDArray[np.int64]] = {
            name: np.array(files, np.int64) for name, files in positions.items()
        }

    def factors(self, text: str, files: int) -> NDArray[np.float32]:
        """Return what each file counts for a query, shape (files,)."""
        factors = np.ones(files, np.float32)
        words = set(_WORD.findall(text.lower())) if self.by_folder else set()
        is_of_windows = not words.isdisjoint(_WINDOWS)
        for name, positions in self.by_folder.items():
            if name not in words and not (is_of_windows and name in _WINDOWS):
                factors[positions] = TWIN_FACTOR
        return factors


def _above(path: str) -> list[str]:
    """Return the folders above a path, without the root."""
    steps = path.split("/")[:-1]
    return ["/".join(steps[: i + 1]) for i in range(len(steps))]


def _gives_way(folder: str, beside: dict[str, set[str]]) -> bool:
    """Return whether a folder stands beside a newer one, or one of Windows beside one of Unix."""
    parent, _, name = folder.rpartition("/")
    name, names = name.lower(), beside[parent]
    version_match = _VERSION.fullmatch(name)
    if version_match is None:
        return name in _WINDOWS and not names.isdisjoint(_UNIX)
    version = int(version_match[1])
    return any(int(match[1]) > version for each in names if (match := _VERSION.fullmatch(each)) is not None)
