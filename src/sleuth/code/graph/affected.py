"""The tests that reach a definition or a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sleuth.code.graph.navigate import Navigator, Touched
from sleuth.code.snapshots.snapshot import Definition

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot


def definitions_at(snapshot: Snapshot, lines: Mapping[str, Iterable[range]]) -> list[Definition]:
    """Return the innermost definitions that hold any of these lines, in order of path and line."""
    definitions = []
    for path, ranges in sorted(lines.items()):
        if path not in snapshot.by_path:
            continue
        file = snapshot.file(path)
        symbols = snapshot.detail(file).symbols
        touched = set()
        for number in {number for each in ranges for number in each}:
            around = [i for i, symbol in enumerate(symbols) if symbol.start <= number <= symbol.end]
            if around:
                touched.add(max(around, key=lambda i: (symbols[i].start, i)))
        definitions += [Definition(file, i, symbols[i]) for i in sorted(touched)]
    return definitions


def affected_tests(snapshot: Snapshot, definitions: Iterable[Definition], hops: int = 5) -> list[Touched]:
    """Return the definitions in tests that reach any of these by uses, the nearest and most certain first.

    A test that is among the definitions itself is 0 hops away.
    """
    definitions = list(definitions)
    own = [
        Touched(d.symbol.qualified, d.symbol.kind, d.file.path, d.symbol.line, 0, 1.0, d.symbol.qualified)
        for d in definitions
        if d.file.category == "test"
    ]
    touched = Navigator(snapshot).impact_of(definitions, hops)
    return own + [each for each in touched if snapshot.file(each.file_path).category == "test" and each.name]
