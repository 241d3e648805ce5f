"""The layout of columns in a segment file: one array of bytes, cut into pieces that the leg's facts name.

A column is checked before its codes are looked up: its file can come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.columns.column import NO_FLOATS, NO_INTEGERS, NO_LISTS, NO_STRINGS, Column, Lists, Strings
from sleuth.errors import IndexDamagedError
from sleuth.store import IN_MEMORY, Scratch, SegmentData, SegmentView, check_offsets, require
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import integer_of

ARRAY: Final = "columns"
_ALIGNMENT: Final = 8
_UNSIGNED: Final = "|u1 <u2 <u4 <u8"
_PIECES: Final = {
    "codes": _UNSIGNED,
    "runs": "<u4",
    "integers": "<i8",
    "floats": "<f8",
    "strings": "|u1",
    "ends": _UNSIGNED,
    "elements": _UNSIGNED,
    "offsets": _UNSIGNED,
}
"""The dtypes that each piece can have."""


def to_segment(n: int, columns: Iterable[tuple[str, Column]], scratch: Scratch = IN_MEMORY) -> SegmentData:
    """Return the arrays and facts of these columns of `n` rows, which are taken one at a time."""
    data, end = scratch.growing(np.uint8), 0
    keys: dict[str, dict[str, list[Any]]] = {}
    for key, column in columns:
        pieces = {
            "codes": column.codes,
            "runs": column.runs,
            "integers": column.integers,
            "floats": column.floats,
            "strings": column.strings.block,
            "elements": column.lists.elements,
        }
        if len(column.strings.block):
            pieces["ends"] = column.strings.offsets
        if len(column.lists.elements):
            pieces["offsets"] = column.lists.offsets
        keys[key] = {}
        aligned: list[NDArray[np.uint8]] = []
        for name, piece in pieces.items():
            if piece is None or not len(piece):
                continue
            dtype = piece.dtype.newbyteorder("<")
            raw = np.ascontiguousarray(piece, dtype).view(np.uint8)
            gap = -len(raw) % _ALIGNMENT
            aligned += [raw, np.zeros(gap, np.uint8)]
            keys[key][name] = [end, len(piece), dtype.str]
            end += len(raw) + gap
        data.append(*aligned)
    return SegmentData({ARRAY: data.array()}, {"n": n, "keys": keys})


def read_column(view: SegmentView, key: str) -> Column | None:
    """Return the column of a key, on the segment's own memory; None where no row has the key.

    Raises:
        IndexDamagedError: the leg cannot have made it.
    """
    with naming_damage(view.name, key):
        return column_of(SegmentData(view.arrays, view.meta), key)


@contextmanager
def naming_damage(segment: str, key: str) -> Iterator[None]:
    """Raise what a column says of its arrays with the name of the segment that it is of."""
    try:
        yield
    except ValueError as error:
        rule = f"the metadata {key!r} of segment {segment} must read as it was written, got {error}"
        raise IndexDamagedError(f"{rule}; `sleuth doctor --repair` makes it anew") from error


def column_of(segment: SegmentData, key: str) -> Column | None:
    """Return the column of a key; None where no row has the key. Raises ValueError for foreign arrays."""
    facts = segment.meta["keys"].get(key)
    if facts is None:
        return None
    data = segment.arrays[ARRAY]
    require(isinstance(facts, dict) and "codes" in facts, "a column must have codes")
    pieces = {name: piece_of(data, facts[name], kinds) for name, kinds in _PIECES.items() if name in facts}
    require(("strings" in pieces) == ("ends" in pieces), "strings must have ends")
    require(("offsets" in pieces) == ("elements" in pieces), "lists must have offsets")
    column = Column(
        n=segment.meta["n"],
        codes=pieces["codes"],
        runs=pieces.get("runs"),
        integers=pieces.get("integers", NO_INTEGERS),
        floats=pieces.get("floats", NO_FLOATS),
        strings=Strings(pieces["strings"], pieces["ends"]) if "ends" in pieces else NO_STRINGS,
        lists=Lists(pieces["offsets"], pieces["elements"]) if "offsets" in pieces else NO_LISTS,
    )
    validate_column(column)
    return column


def keys_of(view: SegmentView) -> list[str]:
    """Return the keys that some row of the segment has."""
    return list(view.meta["keys"])


def validate_column(column: Column) -> None:
    """Refuse a column that `build_columns` cannot have made, in a few passes over its codes.

    Raises:
        ValueError: says what is wrong.
    """
    for name, values in (("integers", column.integers), ("floats", column.floats)):
        rise = all(np.all(piece[1:] > piece[:-1]) for piece in windows(values, 1))
        require(rise and not np.isnan(values[:1]).any(), f"{name} must rise")
    check_offsets("ends", column.strings.offsets, len(column.strings.block), strictly=True)
    check_offsets("offsets", column.lists.offsets, len(column.lists.elements), strictly=True)
    _check_below("elements", column.lists.elements, column.first_list)
    _check_below("codes", column.codes, column.n_codes)
    rows = len(column.codes)
    if column.runs is not None:
        require(len(column.runs) == rows, "runs must be one for each code")
        rows = int(column.runs.sum(dtype=np.uint64))
    is_narrow = column.codes.dtype == np.min_scalar_type(column.n_codes - 1)
    require(is_narrow and rows == column.n, "codes must be one for each row")


def _check_below(name: str, codes: NDArray[Any], limit: int) -> None:
    are_below = all(int(piece.max(initial=0)) < limit for piece in windows(codes))
    require(are_below, f"{name} must be below {limit}")


def piece_of(data: NDArray[np.uint8], facts: Any, kinds: str) -> NDArray[Any]:
    """Return the array that facts place in the data: offset in bytes, number of values, dtype.

    Args:
        kinds: the dtypes that it can have.
    """
    require(isinstance(facts, list) and len(facts) == 3, f"facts of an array must be three, got {facts!r}")
    offset, count, name = facts
    require(name in kinds.split(), f"an array must be {kinds}, got {name!r}")
    dtype = np.dtype(name)
    places = {"offset": offset, "count": count}
    offset, count = (integer_of(places, name, 0, len(data)) for name in places)
    end = offset + count * dtype.itemsize
    require(end <= len(data), "an array must lie within the data")
    piece: NDArray[Any] = data[offset:end].view(dtype)
    return piece if piece.flags.aligned else piece.copy()
