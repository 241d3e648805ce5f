"""One metadata key of a segment: a code for each row, in an order that answers comparisons.

Every distinct value of the key has a code, and codes are in the order of values within a kind:

    0 missing or null | 1 there, but equal to nothing (NaN, an empty list, an object) | 2 False | 3 True
    | integers | other floats | strings | lists

so that equality, orders and prefixes are intervals of codes, found by binary search, and a filter becomes a scan of a
byte or two per row. A float with an integer's value has that integer's code. A list is a set of codes of elements.

Rows hold their codes in the narrowest of uint8, uint16 and uint32, or as runs of equal codes where that takes at most
half the room: a key that all chunks of a document share, or that few rows have. Integers that leave few gaps have no
dictionary at all: their code is the value less a constant. Strings are front-coded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.store.columns import kernels
from sleuth.store.disk.scratch import IN_MEMORY, Scratch, windows

Array: TypeAlias = NDArray[Any]
Interval: TypeAlias = tuple[int, int]
"""Codes from the first up to, not including, the second."""

MISSING: Final = 0
BARE: Final = 1
FALSE: Final = 2
FIRST_INTEGER: Final = 4


@dataclass(frozen=True, slots=True)
class Integers:
    """The distinct integers of a key, in order.

    Attributes:
        values: shape (count,), any integer dtype; None where they are `low`, `low + 1`, … without a gap that counts.
    """

    values: Array | None
    low: int
    count: int

    def below(self, value: float) -> int:
        """Return how many are less than `value`, which may be a float: the comparison is exact."""
        if self.count == 0 or value == -math.inf:
            return 0
        bound = self.low + (1 << 65) if value == math.inf else math.ceil(value)
        if self.values is None:
            return min(max(bound - self.low, 0), self.count)
        if bound <= self.low:
            return 0
        if bound > int(self.values[-1]):
            return self.count
        return int(np.searchsorted(self.values, self.values.dtype.type(bound)))

    def up_to(self, value: float) -> int:
        """Return how many are at most `value`."""
        return self.below(math.floor(value) + 1 if math.isfinite(value) else value)

    def take(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the integers at these places."""
        if self.values is None:
            return places + self.low
        return self.values[places].astype(np.int64)


@dataclass(frozen=True, slots=True)
class Floats:
    """The distinct floats of a key that no 64-bit integer equals, in order; shape (count,), float64."""

    values: NDArray[np.float64]

    @property
    def count(self) -> int:
        return len(self.values)

    def below(self, value: float) -> int:
        """Count the values less than `value`, which may be an integer that no float equals: the comparison is exact."""
        near = float(value)
        return int(np.searchsorted(self.values, near, "left" if near >= value else "right"))

    def up_to(self, value: float) -> int:
        """Return how many are at most `value`."""
        near = float(value)
        return int(np.searchsorted(self.values, near, "right" if near <= value else "left"))

    def take(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the floats at these places."""
        return self.values[places]


@dataclass(frozen=True, slots=True)
class Strings:
    """The distinct strings of a key in order of code point, front-coded as UTF-8 (see `kernels.pyx`)."""

    data: NDArray[np.uint8]
    heads: NDArray[np.uint32]
    count: int

    @classmethod
    def of(cls, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Strings:
        """Sorted strings, one after the other, and where each begins and ends."""
        data, heads = kernels.encode(blob, offsets)
        return cls(data, heads, len(offsets) - 1)

    def below(self, value: str) -> int:
        """Return how many come before `value`."""
        return self._below(utf8(value))

    def up_to(self, value: str) -> int:
        """Return how many come before `value` or equal it: a zero byte more gives the very next string."""
        return self._below(utf8(value) + b"\0")

    def beginning_with(self, prefix: str) -> Interval:
        """Return the places of those that begin so: no byte of UTF-8 is 0xFF."""
        return self.below(prefix), self._below(utf8(prefix) + b"\xff")

    def containing(self, text: str) -> NDArray[np.uint8]:
        """Return a mask of those that hold `text`, shape (count,)."""
        return kernels.containing(self.data, self.count, utf8(text))

    def equal_in_any_case(self, text: str) -> NDArray[np.uint8]:
        """Return a mask of those that equal `text` without case, shape (count,). Reads each of them."""
        value = text.casefold()
        strings = self.take(np.arange(self.count))
        return np.fromiter((string.casefold() == value for string in strings), np.uint8, self.count)

    def take(self, places: NDArray[np.int64]) -> list[str]:
        """Return the strings at these places."""
        if not len(places):
            return []
        blob, offsets = kernels.decode(self.data, self.count)
        data = blob.tobytes()
        bounds = zip(offsets[places].tolist(), offsets[places + 1].tolist(), strict=True)
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]

    def _below(self, needle: bytes) -> int:
        return kernels.below(self.data, self.heads, self.count, needle)


@dataclass(frozen=True, slots=True)
class Lists:
    """The distinct lists of a key: list i holds the codes `elements[offsets[i]:offsets[i + 1]]`, ascending."""

    offsets: NDArray[np.uint32]
    elements: Array

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    def any_of(self, table: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a mask of the lists with an element whose code has a 1 in `table`."""
        return kernels.any_of(self.offsets, self.elements, table)


NO_FLOATS: Final = Floats(np.zeros(0, np.float64))
NO_STRINGS: Final = Strings(np.zeros(0, np.uint8), np.zeros(0, np.uint32), 0)
NO_LISTS: Final = Lists(np.zeros(1, np.uint32), np.zeros(0, np.uint8))


@dataclass(frozen=True, slots=True)
class Column:
    """One key over the rows of a segment.

    Attributes:
        n: rows.
        codes: shape (n,), or (runs,) where there are `starts`; uint8, uint16 or uint32.
        starts: the first row of each run, shape (runs,), uint32, beginning with 0; None where every row has its code.
    """

    n: int
    codes: Array
    starts: NDArray[np.uint32] | None
    integers: Integers
    floats: Floats
    strings: Strings
    lists: Lists

    @property
    def first_float(self) -> int:
        return FIRST_INTEGER + self.integers.count

    @property
    def first_string(self) -> int:
        return self.first_float + self.floats.count

    @property
    def first_list(self) -> int:
        return self.first_string + self.strings.count

    @property
    def n_codes(self) -> int:
        return self.first_list + self.lists.count

    def row_codes(self, first: int = 0, end: int | None = None) -> Array:
        """Return the code of every row, shape (n,), or of the rows from `first` to `end`."""
        end = self.n if end is None else min(end, self.n)
        if self.starts is None:
            return self.codes[first:end]
        runs = slice(
            int(np.searchsorted(self.starts, first, "right")) - 1, int(np.searchsorted(self.starts, end))
        )
        bounds = np.append(self.starts[runs], end).astype(np.int64)
        bounds[:1] = first
        return np.repeat(self.codes[runs], np.diff(bounds))

    def by_table(self, table: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """Return the bitmap of the rows whose code has a 1 in `table`, shape (n_codes,)."""
        if self.starts is None:
            return kernels.select(self.codes, table)
        return kernels.spread(self.starts, np.take(table, self.codes, mode="clip"), self.n)

    def by_intervals(self, intervals: Sequence[Interval]) -> NDArray[np.uint64]:
        """Return the bitmap of the rows whose code lies in one of these."""
        mask = np.zeros(len(self.codes), np.bool_)
        for low, high in intervals:
            if low < high:
                mask |= _within(self.codes, low, high, self.n_codes)
        if self.starts is not None:
            return kernels.spread(self.starts, mask.view(np.uint8), self.n)
        words = np.zeros((self.n + 63) // 64, np.uint64)
        words.view(np.uint8)[: (self.n + 7) // 8] = np.packbits(mask, bitorder="little")
        return words


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


def narrowest(n_codes: int) -> type[np.unsignedinteger[Any]]:
    """Return the narrowest type that holds codes 0 to n_codes - 1."""
    if n_codes <= 1 << 8:
        return np.uint8
    return np.uint16 if n_codes <= 1 << 16 else np.uint32


def lay_rows(rows: Array, scratch: Scratch = IN_MEMORY) -> tuple[Array, NDArray[np.uint32] | None]:
    """Return codes and starts of a column whose rows have these codes, in the narrowest type; at least one row."""
    runs = 1 + sum(int(np.count_nonzero(some[1:] != some[:-1])) for some in windows(rows, 1))
    if 2 * runs * (4 + rows.itemsize) > rows.nbytes:
        return rows, None
    codes, starts, first = scratch.growing(rows.dtype), scratch.growing(np.uint32), 0
    for some in windows(rows, 1):
        places = np.flatnonzero(some[1:] != some[:-1]) + 1
        if not first:
            places = np.append(0, places)
        codes.append(some[places])
        starts.append(first + places)
        first += len(some) - 1
    return codes.array(), starts.array()


def utf8(text: str) -> bytes:
    """UTF-8 whose byte order is that of code points; lone surrogates, which JSON can hold, are kept."""
    return text.encode("utf-8", "surrogatepass")
