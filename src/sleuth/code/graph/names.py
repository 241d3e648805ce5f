"""Looks definitions up by name, in a snapshot and in a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sleuth.code.graph.modules import nearest
from sleuth.code.parsing.languages import ways_of
from sleuth.code.snapshots.record import FileRow
from sleuth.code.snapshots.snapshot import Definition, Snapshot

_STYLED = frozenset({"css", "html", "vue", "svelte"})
"""Pages use the names that styles define."""
_MOST_FILES = 2_000


class NamedDefinitions:
    """Definitions by name at one snapshot. Remembers what it looked up. Safe to share between threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.places = lru_cache(_MOST_FILES)(self._places)
        self.named = lru_cache(maxsize=20_000)(self._named)

    def _named(self, name: str) -> list[Definition]:
        """Return what a name can mean: an `impl` has the name of its type, and is never meant by it."""
        return [d for d in self._snapshot.definitions(name) if d.symbol.kind != "impl"]

    def _places(self, file: FileRow) -> dict[str, list[int]]:
        """Return the places of a file's symbols by name."""
        places: dict[str, list[int]] = {}
        for i, symbol in enumerate(self._snapshot.detail(file).symbols):
            if symbol.kind != "impl":
                places.setdefault(symbol.name, []).append(i)
        return places

    def nearest(self, file: FileRow, candidates: Sequence[Definition]) -> Definition:
        """Return the first of the candidates whose file is nearest to a file."""
        positions = [self._snapshot.by_path[d.file.path] for d in candidates]
        best = nearest(self._snapshot, file, positions)[0]
        return next(d for d in candidates if d.file.path == self._snapshot.files[best].path)


def speak_alike(one: FileRow, other: FileRow) -> bool:
    """Return whether code of one file's language can use what the other defines."""
    a, b = one.language, other.language
    return a == b or (ways_of(a).family or a) == (ways_of(b).family or b) or {a, b} <= _STYLED
