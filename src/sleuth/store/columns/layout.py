"""How do columns lie in a segment file? One array of bytes, cut into pieces that the leg's facts name.

A piece that is there already, byte for byte, is not written twice: keys that say the same thing of every row, such as
`source` and `path`, share their codes.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns.column import (
    NO_FLOATS,
    NO_LISTS,
    NO_STRINGS,
    Array,
    Column,
    Floats,
    Integers,
    Lists,
    Strings,
)
from sleuth.store.legs import SegmentData, SegmentView

ARRAY: Final = "columns"
_ALIGNMENT: Final = 8
_PIECES: Final = frozenset({"codes", "starts", "values", "floats", "strings", "heads", "offsets", "elements"})


def to_segment(n: int, columns: Iterable[tuple[str, Column]]) -> SegmentData:
    """The arrays and facts of these columns of `n` rows, which are taken one at a time."""
    out = _Pieces()
    keys = {key: _facts(column, out) for key, column in columns}
    return SegmentData({ARRAY: out.joined()}, {"n": n, "keys": keys})


def read_column(view: SegmentView, key: str) -> Column | None:
    """The column of a key, on the segment's own memory; None where no row has the key."""
    facts = view.meta["keys"].get(key)
    if facts is None:
        return None
    data = view.arrays[ARRAY]
    pieces = {name: _piece(data, place) for name, place in facts.items() if name in _PIECES}
    low, count = facts.get("integers", (0, 0))
    return Column(
        n=view.meta["n"],
        codes=pieces["codes"],
        starts=pieces.get("starts"),
        integers=Integers(pieces.get("values"), low, count),
        floats=Floats(pieces["floats"]) if "floats" in pieces else NO_FLOATS,
        strings=Strings(pieces["strings"], pieces["heads"], facts["n_strings"])
        if "heads" in pieces
        else NO_STRINGS,
        lists=Lists(pieces["offsets"], pieces["elements"]) if "offsets" in pieces else NO_LISTS,
    )


def keys_of(view: SegmentView) -> list[str]:
    """The keys that some row of the segment has."""
    return list(view.meta["keys"])


class _Pieces:
    """Arrays on their way into one array of bytes, each once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.end = 0
        self.places: dict[tuple[str, bytes], int] = {}

    def add(self, array: Array) -> list[Any]:
        """Where the array lies: offset in bytes, number of values, dtype."""
        name = array.dtype.newbyteorder("<").str
        raw = array.astype(name, copy=False).tobytes()
        same = (name, blake2b(raw, digest_size=16).digest())
        if same not in self.places:
            self.places[same] = self.end
            self.parts.append(raw + bytes(-len(raw) % _ALIGNMENT))
            self.end += len(self.parts[-1])
        return [self.places[same], len(array), name]

    def joined(self) -> NDArray[np.uint8]:
        return np.frombuffer(b"".join(self.parts), np.uint8)


def _facts(column: Column, out: _Pieces) -> dict[str, Any]:
    """Where the pieces of a column lie; a part that it lacks is left out."""
    facts: dict[str, Any] = {"codes": out.add(column.codes)}
    if column.starts is not None:
        facts["starts"] = out.add(column.starts)
    if column.integers.count:
        facts["integers"] = [column.integers.low, column.integers.count]
    if column.integers.values is not None:
        facts["values"] = out.add(column.integers.values)
    if column.floats.count:
        facts["floats"] = out.add(column.floats.values)
    if column.strings.count:
        facts["strings"], facts["heads"] = out.add(column.strings.data), out.add(column.strings.heads)
        facts["n_strings"] = column.strings.count
    if column.lists.count:
        facts["offsets"], facts["elements"] = out.add(column.lists.offsets), out.add(column.lists.elements)
    return facts


def _piece(data: NDArray[np.uint8], facts: list[Any]) -> Array:
    offset, count, name = facts
    dtype = np.dtype(name)
    found: Array = data[offset : offset + count * dtype.itemsize].view(dtype)
    return found if found.flags.aligned else found.copy()
