"""One metadata key of a segment: a code for each row, in an order that answers comparisons.

Every distinct value of the key has a code, and codes are in the order of values within a kind:

    0 missing or null | 1 there, but equal to nothing (NaN, an empty list, an object) | 2 False | 3 True
    | integers | other floats | strings | lists

so that equality, orders and prefixes are intervals of codes, found by binary search, and a filter becomes a scan of a
byte or two per row. A float with an integer's value has that integer's code. A list is a set of codes of elements.

Codes are in the narrowest unsigned type. Where that takes at most half the room they are of runs of equal rows: a key
that few rows have would otherwise cost a byte for each row, and metadata can have thousands of such keys.

In a segment file all columns are one array of bytes, cut into pieces that the leg's facts name. A column is checked
before its codes are looked up: its file can come from anybody.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import IndexDamagedError
from sleuth.store import IN_MEMORY, Scratch, SegmentData, SegmentView, check_offsets, require
from sleuth.store.disk.scratch import windows
from sleuth.store.legs.arrays import integer_of
from sleuth.store.legs.leg import pack

if TYPE_CHECKING:
    from sleuth.filters.tree import Scalar

Array: TypeAlias = NDArray[Any]
Interval: TypeAlias = tuple[int, int]
"""Codes from the first up to, not including, the second."""

MISSING: Final = 0
BARE: Final = 1
FALSE: Final = 2
FIRST_INTEGER: Final = 4
KINDS: Final = ("boolean", "integer", "number", "string", "array", "bare")
"""Kinds of values, in the order of their codes; "bare" is an empty list or an object."""
END: Final = b"\xff"
"""Ends each string of a block: no byte of UTF-8 is so, and it is above them all."""


@dataclass(frozen=True, slots=True)
class Strings:
    """The distinct strings of a key in order of code point.

    Attributes:
        block: the strings as UTF-8, `END` after each; uint8.
        offsets: where each begins, and the length of the block; shape (count + 1,), unsigned.
    """

    block: NDArray[np.uint8]
    offsets: Array

    @classmethod
    def of(cls, strings: Sequence[bytes]) -> Strings:
        """Return strings that are in order."""
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)) + 1, out=offsets[1:])
        block = np.frombuffer(END.join([*strings, b""]), np.uint8)
        return cls(block, offsets.astype(np.min_scalar_type(len(block))))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def item(self, place: int) -> bytes:
        """Return the string at this place, UTF-8."""
        return self.block[int(self.offsets[place]) : int(self.offsets[place + 1]) - 1].tobytes()

    def all(self) -> list[bytes]:
        """Return all strings, UTF-8; raises as `between`."""
        return self.between(0, len(self))

    def between(self, begin: int, end: int) -> list[bytes]:
        """Return the strings from one place up to another. Raises ValueError where offsets do not fit the block."""
        strings = self.block[int(self.offsets[begin]) : int(self.offsets[end])].tobytes().split(END)[:-1]
        if len(strings) != end - begin:
            raise ValueError(f"{len(strings)} strings where {end - begin} must be")
        return strings

    def containing(self, text: str) -> NDArray[np.bool_]:
        """Return a mask of those that hold `text`, shape (count,)."""
        if not text:
            return np.ones(len(self), np.bool_)
        matches = re.finditer(re.escape(utf8(text)) + rb"[^\xff]*+", self.block.data)
        starts = np.fromiter((match.start() for match in matches), np.int64)
        mask = np.zeros(len(self), np.bool_)
        mask[np.searchsorted(self.offsets, starts.astype(self.offsets.dtype), "right") - 1] = True
        return mask

    def equal_in_any_case(self, text: str) -> NDArray[np.bool_]:
        """Return a mask of those that equal `text` without case, shape (count,). Reads each of them."""
        value = text.casefold()
        return np.fromiter(
            (text_of(string).casefold() == value for string in self.all()), np.bool_, len(self)
        )


Ordered: TypeAlias = Array | Strings
"""Distinct values in order. Python compares its `item`s exactly, also an integer with a float."""


def below(values: Ordered, value: float | bytes) -> int:
    """Return how many are less than `value`."""
    return bisect_left(range(len(values)), value, key=values.item)


def up_to(values: Ordered, value: float | bytes) -> int:
    """Return how many are at most `value`."""
    return bisect_right(range(len(values)), value, key=values.item)


@dataclass(frozen=True, slots=True)
class Lists:
    """The distinct lists of a key, none empty: list i holds the codes `elements[offsets[i]:offsets[i + 1]]`."""

    offsets: Array
    elements: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def any_of(self, table: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a mask of the lists with an element whose code is in `table`."""
        if not len(self):
            return np.zeros(0, np.bool_)
        return np.logical_or.reduceat(table[self.elements], self.offsets[:-1].astype(np.int64))

    def elements_of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the elements of the lists at these places: which of `places` each belongs to, and its code."""
        starts = self.offsets[places].astype(np.int64)
        lengths = self.offsets[places + 1].astype(np.int64) - starts
        owners = np.repeat(np.arange(len(places)), lengths)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return owners, self.elements[np.repeat(starts, lengths) + within].astype(np.int64)


NO_INTEGERS: Final = np.zeros(0, np.int64)
NO_FLOATS: Final = np.zeros(0, np.float64)
NO_STRINGS: Final = Strings(np.zeros(0, np.uint8), np.zeros(1, np.uint8))
NO_LISTS: Final = Lists(np.zeros(1, np.uint8), np.zeros(0, np.uint8))


class Column(NamedTuple):
    """One key over the rows of a segment.

    Attributes:
        n: rows.
        codes: shape (n,), or (runs,) where there are `runs`; unsigned.
        runs: how many rows each code is of, shape (runs,), uint32; None where every row has its code.
        integers: the distinct ones of 64 bits, ascending, shape (integers,).
        floats: the distinct ones that equal no such integer, ascending, shape (floats,).
    """

    n: int
    codes: Array
    runs: NDArray[np.uint32] | None
    integers: Array
    floats: Array
    strings: Strings
    lists: Lists

    @classmethod
    def of(cls, codes: Array, integers: Array, floats: Array, strings: Strings, lists: Lists) -> Column:
        """Return the column of rows with these codes, shape (n,), at least one row; as runs where that is smaller."""
        starts = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), codes[1:] != codes[:-1])))
        runs = None
        n = len(codes)
        if 2 * len(starts) * (4 + codes.itemsize) <= codes.nbytes:
            codes, runs = codes[starts], np.diff(starts, append=n).astype(np.uint32)
        return cls(n, codes, runs, integers, floats, strings, lists)

    @property
    def first_float(self) -> int:
        return FIRST_INTEGER + len(self.integers)

    @property
    def first_string(self) -> int:
        return self.first_float + len(self.floats)

    @property
    def first_list(self) -> int:
        return self.first_string + len(self.strings)

    @property
    def n_codes(self) -> int:
        return self.first_list + len(self.lists)

    def row_codes(self) -> Array:
        """Return the code of every row, shape (n,)."""
        return self._of_rows(self.codes)

    def by_table(self, table: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """Return the bitmap of the rows whose code is in `table`, shape (n_codes,)."""
        return pack(self._of_rows(np.take(table, self.codes, mode="clip")))

    def by_intervals(self, intervals: Sequence[Interval]) -> NDArray[np.uint64]:
        """Return the bitmap of the rows whose code lies in one of these."""
        mask = np.zeros(len(self.codes), np.bool_)
        for low, high in intervals:
            if low < high:
                mask |= _within(self.codes, low, high, self.n_codes)
        return pack(self._of_rows(mask))

    def _of_rows(self, values: Array) -> Array:
        return values if self.runs is None else np.repeat(values, self.runs.astype(np.int64))


def _within(codes: Array, low: int, high: int, n_codes: int) -> NDArray[np.bool_]:
    as_code = codes.dtype.type
    is_within: NDArray[np.bool_]
    if high - low == 1:
        is_within = codes == as_code(low)
    elif high >= n_codes:
        is_within = codes >= as_code(low)
    elif low == 0:
        is_within = codes < as_code(high)
    else:  # unsigned: codes below `low` wrap to large ones
        is_within = codes - as_code(low) < as_code(high - low)
    return is_within


def utf8(text: str) -> bytes:
    """UTF-8 whose byte order is that of code points; lone surrogates, which JSON can hold, are kept."""
    return text.encode("utf-8", "surrogatepass")


def text_of(string: bytes) -> str:
    """Return the text whose UTF-8 this is; raises ValueError where it is of none."""
    return string.decode("utf-8", "surrogatepass")


def scalar_rows(column: Column, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that have a scalar, and its code in the column; a row with a list comes once for each element.

    Args:
        rows: ordinals, shape (n,).
    """
    codes = column.row_codes()[rows].astype(np.int64)
    is_list = codes >= column.first_list
    is_scalar = (codes >= FALSE) & ~is_list
    owners, elements = column.lists.elements_of(codes[is_list] - column.first_list)
    return (
        np.concatenate((rows[is_scalar], rows[is_list][owners])),
        np.concatenate((codes[is_scalar], elements)),
    )


def values_of(column: Column, codes: NDArray[np.int64]) -> list[Scalar]:
    """Return the scalars that these codes mean.

    Args:
        codes: of scalars, ascending, shape (n,).
    """
    booleans, integers, floats, strings = np.split(
        codes, np.searchsorted(codes, [FIRST_INTEGER, column.first_float, column.first_string])
    )
    values: list[Scalar] = [bool(code - FALSE) for code in booleans]
    values += column.integers[integers - FIRST_INTEGER].tolist()
    values += column.floats[floats - column.first_float].tolist()
    item = column.strings.all().__getitem__ if 8 * len(strings) > len(column.strings) else column.strings.item
    return values + [text_of(item(place)) for place in (strings - column.first_string).tolist()]


def kinds_of(column: Column, rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return the rows that have a value of each kind, as ordinals; kinds without a row are left out."""
    codes = column.row_codes()[rows]
    starts = (FALSE, FIRST_INTEGER, column.first_float, column.first_string, column.first_list)
    places = np.searchsorted(starts, codes, side="right") - 1
    rows_by_kind = {kind: rows[places == place] for place, kind in enumerate(KINDS[:-1])}
    rows_by_kind[KINDS[-1]] = rows[codes == BARE]
    return {kind: members for kind, members in rows_by_kind.items() if len(members)}


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
