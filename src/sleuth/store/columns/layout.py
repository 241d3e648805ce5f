"""The layout of columns in a segment file: one array of bytes, cut into pieces that the leg's facts name.

A piece that is there already, byte for byte, is not written twice: keys that say the same thing of every row, such as
`source` and `path`, share their codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from sleuth.errors import IndexDamagedError
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
from sleuth.store.columns.validity import piece_of, validate_column
from sleuth.store.disk.scratch import IN_MEMORY, Scratch, bytes_of, pieces
from sleuth.store.legs.arrays import integer_of, require
from sleuth.store.legs.leg import SegmentData, SegmentView

ARRAY: Final = "columns"
MOST_CODES: Final = 1 << 32
_ALIGNMENT: Final = 8
_CODES: Final = "|u1 <u2 <u4"
_PIECES: Final = {
    "codes": _CODES,
    "starts": "<u4",
    "values": "|u1 |i1 <u2 <i2 <u4 <i4 <i8",
    "floats": "<f8",
    "strings": "|u1",
    "heads": "<u4",
    "offsets": "<u4",
    "elements": _CODES,
}
"""The dtypes that each piece can have."""


def to_segment(n: int, columns: Iterable[tuple[str, Column]], scratch: Scratch = IN_MEMORY) -> SegmentData:
    """Return the arrays and facts of these columns of `n` rows, which are taken one at a time."""
    out = _Pieces(scratch)
    keys = {key: _facts(column, out) for key, column in columns}
    return SegmentData({ARRAY: out.array.array()}, {"n": n, "keys": keys})


def read_column(view: SegmentView, key: str) -> Column | None:
    """Return the column of a key, on the segment's own memory; None where no row has the key.

    Raises:
        IndexDamagedError: the leg cannot have made it.
    """
    with naming_damage(view, key):
        return column_of(SegmentData(view.arrays, view.meta), key)


@contextmanager
def naming_damage(view: SegmentView, key: str) -> Iterator[None]:
    """Provide what a column says of its arrays, with the segment that it is of."""
    try:
        yield
    except ValueError as error:
        rule = f"the metadata {key!r} of segment {view.name} must read as it was written, got {error}"
        raise IndexDamagedError(f"{rule}; `sleuth doctor --repair` makes it anew") from error


def column_of(segment: SegmentData, key: str) -> Column | None:
    """Return the column of a key; None where no row has the key. Raises ValueError for foreign arrays."""
    facts = segment.meta["keys"].get(key)
    if facts is None:
        return None
    data = segment.arrays[ARRAY]
    require(isinstance(facts, dict) and "codes" in facts, "a column must have codes")
    pieces = {name: piece_of(data, facts[name], kinds) for name, kinds in _PIECES.items() if name in facts}
    require(("strings" in pieces) == ("heads" in pieces), "strings must have heads")
    require(("offsets" in pieces) == ("elements" in pieces), "lists must have offsets")
    column = Column(
        n=segment.meta["n"],
        codes=pieces["codes"],
        starts=pieces.get("starts"),
        integers=_integers(facts, pieces.get("values")),
        floats=Floats(pieces["floats"]) if "floats" in pieces else NO_FLOATS,
        strings=Strings(pieces["strings"], pieces["heads"], integer_of(facts, "n_strings", 0, MOST_CODES))
        if "heads" in pieces
        else NO_STRINGS,
        lists=Lists(pieces["offsets"], pieces["elements"]) if "offsets" in pieces else NO_LISTS,
    )
    validate_column(column)
    return column


def _integers(facts: Mapping[str, Any], values: Array | None) -> Integers:
    pair = facts.get("integers", [0, 0])
    require(isinstance(pair, list) and len(pair) == 2, f"integers must be two numbers, got {pair!r}")
    bounds = dict(zip(("low", "count"), pair, strict=True))
    low = integer_of(bounds, "low", -(1 << 63), 1 << 63)
    return Integers(values, low, integer_of(bounds, "count", 0, MOST_CODES))


def keys_of(view: SegmentView) -> list[str]:
    """Return the keys that some row of the segment has."""
    return list(view.meta["keys"])


class _Pieces:
    """Arrays on their way into one array of bytes, each once."""

    def __init__(self, scratch: Scratch) -> None:
        self.array = scratch.growing(np.uint8)
        self.end = 0
        self.places: dict[tuple[str, bytes], int] = {}

    def add(self, array: Array) -> list[Any]:
        """Return where the array lies: offset in bytes, number of values, dtype."""
        name = array.dtype.newbyteorder("<").str
        raw = bytes_of(array.astype(name, copy=False))
        digest = blake2b(digest_size=16)
        for some in pieces(raw):
            digest.update(some)
        same = (name, digest.digest())
        if same not in self.places:
            self.places[same] = self.end
            self.array.append(np.frombuffer(raw, np.uint8))
            self.array.append(np.zeros(-len(raw) % _ALIGNMENT, np.uint8))
            self.end += len(raw) + -len(raw) % _ALIGNMENT
        return [self.places[same], len(array), name]


def _facts(column: Column, out: _Pieces) -> dict[str, Any]:
    """Return where the pieces of a column lie; a part that it lacks is left out."""
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
