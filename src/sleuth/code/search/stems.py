"""Finds files whose whole name is in a query: `args.go` for "positional argument validators".

A word of a name stands for a word of the query that begins with it, as `arg` for "argument", and for one that ends in
other ways, as `recoverer` for "recovery": in 32 repositories of a public board this found what a table of short forms
did, and more (docs/decisions/signals-of-code.md).

Also finds files of an older version that stand beside those of a newer one.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from posixpath import basename, dirname
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.names import grouped
from sleuth.text.analyzers import get_analyzer

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LEAST: Final = 3
"""Letters that a word of a name has in common with the longer word that it stands for, at least."""
_ROOT: Final = 4
"""Letters that two words with other ends have in common at least."""
_END: Final = 2
"""Letters of such an end at most."""


class Stems:
    """The files of a snapshot by the words of their names, without extension.

    Attributes:
        by_first: by the first word of a name, its other words with the positions of the files.
        by_start: words of names by their first letters.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        """Read the names of all files."""
        positions: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for i, file in enumerate(snapshot.files):
            name = file.path.rpartition("/")[2].lstrip(".").partition(".")[0]
            name_words = (word for part in _PART.findall(name) for word in _analyzed(part.lower()))
            positions[tuple(name_words)].append(i)
        positions.pop((), None)
        self.by_first: dict[str, list[tuple[tuple[str, ...], list[int]]]] = defaultdict(list)
        for words, files in positions.items():
            self.by_first[words[0]].append((words[1:], files))
        each_word = sorted({word for words in positions for word in words})
        self.by_start = grouped(each_word, lambda word: word[:_LEAST])

    def scores(self, title: Iterable[str], files: int) -> NDArray[np.float32]:
        """Score files by how few have their name, if all of its words are in a title; shape (files,), in [0, 1].

        Args:
            title: words as the analyzer gives them.
        """
        words = set(title)
        for word in tuple(words):
            for name in self.by_start.get(word[:_LEAST], ()):
                root = max(_ROOT, len(name) - _END, len(word) - _END)  # of two words with short ends
                if word.startswith(name) or name[:root] == word[:root]:
                    words.add(name)
        scores = np.zeros(files, np.float32)
        for first in words:
            for remaining_words, positions in self.by_first.get(first, ()):
                if words.issuperset(remaining_words):
                    scores[positions] = 1 / math.sqrt(len(positions))
        return scores


@lru_cache(maxsize=20_000)
def _analyzed(part: str) -> tuple[str, ...]:
    return tuple(get_analyzer("code-english").tokens(part))[:1]


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
