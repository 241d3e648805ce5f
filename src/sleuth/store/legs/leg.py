"""The protocol of a leg: what the store asks of a family that searches its rows.

A *leg* is one way to search the same rows: postings, vectors, metadata columns. The store keeps rows and files and
does not know their content; a leg turns rows into arrays, merges arrays, and searches them.

A *row* is a chunk, named inside the package by its `key`: an int64 that SQLite gives in order of arrival and never
gives again. Inside a segment a row is an *ordinal*, 0 to n - 1, in order of key. Neither is ever shown to users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from sleuth.store.disk.scratch import IN_MEMORY, Scratch

Bitmap = NDArray[np.uint64]
"""A set of ordinals, shape (ceil(n / 64),): ordinal i is bit i % 64 of word i // 64. Bits at n and above are 0."""

RowKeys: TypeAlias = NDArray[np.int64] | range
"""Keys of rows, ascending: an array of shape (n,), or a range where they have no gap."""
_ARRAYS: WeakValueDictionary[range, NDArray[np.int64]] = WeakValueDictionary()


def key_array(keys: RowKeys) -> NDArray[np.int64]:
    """Return keys as an array of shape (n,). All who use the same range share one array, which nobody else keeps."""
    if not isinstance(keys, range):
        return keys
    array = _ARRAYS.get(keys)
    if array is None:
        array = np.arange(keys.start, keys.stop, dtype=np.int64)
        array.flags.writeable = False
        _ARRAYS[keys] = array
    return array


def pack(mask: NDArray[np.bool_]) -> Bitmap:
    """Return a bitmap of a boolean mask of shape (n,)."""
    words = np.zeros((len(mask) + 63) // 64, np.uint64)
    words.view(np.uint8)[: (len(mask) + 7) // 8] = np.packbits(mask, bitorder="little")
    return words


def unpack(bitmap: Bitmap, n: int) -> NDArray[np.bool_]:
    """Return the boolean mask of shape (n,) of a bitmap."""
    return np.unpackbits(bitmap.view(np.uint8), count=n, bitorder="little").view(np.bool_)


def count(bitmap: Bitmap) -> int:
    """Return how many ordinals the set holds."""
    return int(np.bitwise_count(bitmap).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Table(Sequence[dict[str, Any]]):
    """Mappings with the same keys, except for null, kept as columns: a mapping is made when it is read.

    Attributes:
        owners: the place of the document of each row, ascending; every document has a row.
        columns: by key, a value of each row.
        shared: by other keys, a value of each document.
    """

    owners: Sequence[int]
    columns: Mapping[str, Sequence[Any]]
    shared: Mapping[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(self.owners)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        owner = self.owners[index]
        values = {key: column[index] for key, column in self.columns.items()}
        values |= {key: column[owner] for key, column in self.shared.items()}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows on their way into a segment, in order of key; column-wise, since a million dicts would be slow.

    Attributes:
        keys: shape (n,), int64, ascending.
        tie_ranks: shape (n,), uint32: position of each row when these rows are sorted by id. Ties of score break
            by it. None where rows are in order of id already.
        texts: searchable texts by field name ("text", "title", "heading", ...), each of length n; a field that no
            row has is absent, a row without it has "".
        metadata: one mapping per row, the document's with the chunk's laid over it; length n.
    """

    keys: NDArray[np.int64]
    tie_ranks: NDArray[np.uint32] | None
    texts: Mapping[str, Sequence[str]]
    metadata: Sequence[Mapping[str, Any]] = ()

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class SegmentData:
    """What a leg wants kept in a segment file.

    Attributes:
        arrays: by name; any numpy dtype without objects and fields; kept as they are and memory-mapped when read.
        meta: small facts, JSON.
        unsealed: arrays of shape (n,) without a checksum, whose rows have their own; each as pieces, one or more.
    """

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any] = field(default_factory=dict)
    unsealed: Mapping[str, Sequence[NDArray[Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment as one version of the index sees it. Immutable; arrays are memory-mapped and read-only.

    Attributes:
        name: names the file; equal names hold equal bytes, so caches may be keyed by it.
        key_list: of its rows.
        tie_ranks: shape (n,), uint32, or None where ordinals are in order of id.
        live: the rows that exist in this version; None where all do. Statistics are taken over these rows only.
        arrays, meta: as the leg gave them.
    """

    name: str
    key_list: RowKeys
    tie_ranks: NDArray[np.uint32] | None
    live: Bitmap | None
    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.key_list)

    @property
    def keys(self) -> NDArray[np.int64]:
        """Ordinal to key, shape (n,), ascending. Searchers keep it: it may be made at each request otherwise."""
        return key_array(self.key_list)


@dataclass(frozen=True, slots=True)
class Hits:
    """Rows found, best first; equal scores within one segment in order of tie rank.

    Attributes:
        keys: shape (m,), int64.
        scores: shape (m,), float32; higher is better.
        segments: shape (m,), int32: index of the segment view that each came from.
    """

    keys: NDArray[np.int64]
    scores: NDArray[np.float32]
    segments: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)


class SegmentKind(Protocol):
    """What one kind of segment holds. Never holds rows; safe to share between threads."""

    @property
    def name(self) -> str:
        """Names the leg in files, reports and options; an identifier."""

    @property
    def fingerprint(self) -> str:
        """Settings that shape the arrays."""

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Arrays for the live rows of these segments, in order.

        Args:
            scratch: where arrays can be made that are too large for memory.
        """

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays of a file that this leg cannot have made, so that its kernels may trust the others.

        Cheap without `full`: kernels must then bounds-check the parts that were not validated.

        Args:
            n: how many rows the segment has.
            full: look at every value that a kernel uses.

        Raises:
            ValueError: says what is wrong.
        """


class Leg(SegmentKind, Protocol):
    """One way to search rows. A segment with another fingerprint is rebuilt from passages.

    Contract: `build` then `merge` give what `build` of all live rows at once would give, up to layout: the same
    hits with the same scores. `merge` takes segments in order of key and drops rows that are not live; the rows left
    keep their order.
    """

    def build(self, rows: Rows) -> SegmentData:
        """Arrays for these rows."""
