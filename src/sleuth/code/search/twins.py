"""Finds files of an older version that stand beside those of a newer one."""

from __future__ import annotations

import re
from collections import defaultdict
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_VERSION: Final = re.compile(r"v(\d{1,4})")
_WORD: Final = re.compile(r"[a-z]+\d*")
TWIN_FACTOR: Final = 0.7
"""What such a file counts; 1 where the query names its folder."""


class Twins:
    """The files of a snapshot below `v3` where `v4` stands beside it.

    Attributes:
        by_folder: positions of these files by the name of the folder, in lower case.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Look at the folders of all paths."""
        folders = {dirname(file.path) for file in snapshot.files}
        folders |= {above for folder in folders for above in _above(folder)}
        versions = {
            folder: int(match[1])
            for folder in folders
            if (match := _VERSION.fullmatch(basename(folder).lower()))
        }
        newest: dict[str, int] = defaultdict(int)
        for folder, version in versions.items():
            newest[dirname(folder)] = max(newest[dirname(folder)], version)
        older = {folder for folder, version in versions.items() if version < newest[dirname(folder)]}
        positions: dict[str, list[int]] = defaultdict(list)
        for i, file in enumerate(snapshot.files) if older else ():
            for folder in _above(file.path):
                if folder in older:
                    positions[basename(folder).lower()].append(i)
        self.by_folder: dict[str, NDArray[np.int64]] = {
            name: np.array(files, np.int64) for name, files in positions.items()
        }

    def factors(self, text: str, files: int) -> NDArray[np.float32]:
        """Return what each file counts for a query, shape (files,)."""
        factors = np.ones(files, np.float32)
        words = set(_WORD.findall(text.lower())) if self.by_folder else set()
        for name, positions in self.by_folder.items():
            if name not in words:
                factors[positions] = TWIN_FACTOR
        return factors


def _above(path: str) -> list[str]:
    """Return the folders above a path, without the root."""
    steps = path.split("/")[:-1]
    return ["/".join(steps[: i + 1]) for i in range(len(steps))]
