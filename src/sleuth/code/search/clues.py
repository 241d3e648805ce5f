"""Signals of functions that are read from their text: what the query quotes, the lines that it names, and calls."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.code.search.pieces import Function
from sleuth.code.search.signals import files_ending_with

if TYPE_CHECKING:
    from sleuth.code.search.query import Query
    from sleuth.code.snapshots.snapshot import Snapshot

_CALLERS: Final = 30
"""Calls of and by so many of the best functions count."""
_MOST_HOMES: Final = 8
"""A name that more functions have says nothing about which is meant."""
_MOST_FILES: Final = 5
"""A path that more files end with says nothing about which is meant."""

Values = NDArray[np.float32]
"""One number per function, in [0, 1]."""


def quoted_shares(snapshot: Snapshot, query: Query, functions: Sequence[Function]) -> Values:
    """Return the share of the query's quotations that each function holds. Rarer texts count more; the best has 1."""
    quoted = [text.encode("utf-8", "replace") for text in sorted(query.quoted)]
    in_file: dict[int, list[bytes]] = {}
    lines: dict[int, list[bytes]] = {}
    quotes: list[list[bytes]] = []
    for file, symbol in functions:
        row = snapshot.files[file]
        if file not in in_file:
            source = snapshot.source(row)
            in_file[file] = [text for text in quoted if text in source]
            lines[file] = source.split(b"\n") if in_file[file] else []
        if in_file[file]:
            definition = snapshot.detail(row).symbols[symbol]
            body = b"\n".join(lines[file][definition.start - 1 : definition.end])
            quotes.append([text for text in in_file[file] if text in body])
        else:
            quotes.append([])
    counts = Counter(text for some in quotes for text in some)
    weights = {text: math.log1p(len(functions) / n) / math.sqrt(n) for text, n in counts.items()}
    values = np.array([sum(weights[text] for text in some) for some in quotes], np.float32)
    peak = float(values.max(initial=0.0))
    return values / peak if peak > 0 else values


def lines_named(snapshot: Snapshot, query: Query, functions: Sequence[Function]) -> Values:
    """Return 1 for functions that hold a line which the query names."""
    spans_by_file: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place in query.lines:
        files = files_ending_with(snapshot, [part for part in place.path.split("/") if part not in ("", ".")])
        for file in files if len(files) <= _MOST_FILES else ():
            spans_by_file[file].append((place.first, place.last))
    values = np.zeros(len(functions), np.float32)
    for at, (file, symbol) in enumerate(functions):
        if file in spans_by_file:
            definition = snapshot.detail(snapshot.files[file]).symbols[symbol]
            values[at] = any(
                first <= definition.end and definition.start <= last for first, last in spans_by_file[file]
            )
    return values


def calls_among(
    snapshot: Snapshot, functions: Sequence[Function], outer: Mapping[int, Sequence[int]], good: Values
) -> tuple[Values, Values]:
    """Return by function how good the best function is that uses its name, and the best one whose name it uses.

    A name that several functions have counts for each of them by its share.

    Args:
        outer: by file, the outermost function around each of its symbols, or -1.
        good: what speaks for each function otherwise.
    """
    names_by_function: dict[Function, set[str]] = defaultdict(set)
    for file, outermost in outer.items():
        for name, inside in snapshot.detail(snapshot.files[file]).uses():
            if inside >= 0:
                names_by_function[Function(file, outermost[inside])].add(name)
    homes: dict[str, list[int]] = defaultdict(list)
    for at, (file, symbol) in enumerate(functions):
        homes[snapshot.detail(snapshot.files[file]).symbols[symbol].name].append(at)
    best = set(np.argsort(-good, kind="stable")[:_CALLERS].tolist())
    called, calls = np.zeros_like(good), np.zeros_like(good)
    for at, function in enumerate(functions):
        for name in names_by_function.get(function, ()):
            same = homes.get(name, ())
            for other in same if len(same) <= _MOST_HOMES else ():
                if at in best and other != at:
                    called[other] = max(called[other], good[at] / len(same))
                if other in best and other != at:
                    calls[at] = max(calls[at], good[other] / len(same))
    return called, calls
