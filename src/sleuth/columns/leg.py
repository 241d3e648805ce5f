"""The leg that answers filters: metadata turned into columns by key and by type, and merged code by code.

The values of a key are taken apart by type, and each type goes to numpy or to a sort at once. Only rows that hold
objects, or are no table, are first read through by `leaves` of the filters.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, compress, count
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import fits_int64
from sleuth.columns.column import (
    ARRAY,
    BARE,
    FALSE,
    FIRST_INTEGER,
    MISSING,
    NO_FLOATS,
    NO_INTEGERS,
    NO_LISTS,
    NO_STRINGS,
    Array,
    Column,
    Lists,
    Strings,
    column_of,
    keys_of,
    naming_damage,
    read_column,
    text_of,
    to_segment,
    utf8,
)
from sleuth.columns.search import ColumnsSearcher
from sleuth.filters.match import comparable, leaves
from sleuth.store import (
    IN_MEMORY,
    LegContext,
    Rows,
    Scratch,
    SegmentData,
    SegmentView,
    array_of,
    require,
    unpack,
)
from sleuth.store.legs.arrays import integer_of
from sleuth.store.legs.leg import Table
from sleuth.store.legs.searching import IndexLeg

_FORMAT: Final = 2
_Number = TypeVar("_Number", bound=np.generic)
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
PIECE: Final = 1 << 14
"""Strings that a merge reads at a time."""


class ColumnsLeg(IndexLeg):
    """Keeps the metadata of rows so that a filter over a million of them costs a millisecond."""

    name = "columns"
    fingerprint = f"columns {_FORMAT}"

    @classmethod
    def open(cls, context: LegContext) -> ColumnsLeg:
        """Return the leg; every index has it."""
        return cls()

    def searcher(
        self, segments: Sequence[SegmentView], previous: ColumnsSearcher | None = None
    ) -> ColumnsSearcher:
        """Open a searcher, with the bitmaps that the one before kept."""
        return ColumnsSearcher(segments, None if previous is None else previous.cache)

    def build(self, rows: Rows) -> SegmentData:
        """Return a column per key; a key that no row has costs nothing."""
        return to_segment(len(rows.keys), sorted(build_columns(rows.metadata).items()))

    def merge(self, segments: Sequence[SegmentView], scratch: Scratch = IN_MEMORY) -> SegmentData:
        """Return the columns of the live rows; values that only dead rows had are dropped."""
        keep = [
            np.broadcast_to(np.True_, len(view)) if view.live is None else unpack(view.live, len(view))
            for view in segments
        ]

        def columns() -> Iterator[tuple[str, Column]]:
            for key in sorted({key for view in segments for key in keys_of(view)}):
                parts = [(read_column(view, key), mask) for view, mask in zip(segments, keep, strict=True)]
                with naming_damage(" or ".join(view.name for view in segments), key):
                    column = merge_column(parts, scratch)
                if column is not None:
                    yield key, column

        return to_segment(sum(int(np.count_nonzero(mask)) for mask in keep), columns(), scratch)

    def validate(self, data: SegmentData, n: int, *, full: bool = False) -> None:
        """Refuse arrays that this leg cannot have made; raises ValueError. Columns are checked when they are read."""
        array_of(data.arrays, ARRAY, np.uint8, (None,))
        require(integer_of(data.meta, "n", 0, n) == n, "columns must be of all rows")
        keys = data.meta.get("keys")
        require(isinstance(keys, dict), f"fact 'keys' must be columns by name, got {keys!r}")
        for key in keys if full and keys else ():
            try:
                column = column_of(data, key)
                for string in column.strings.all() if column else ():
                    text_of(string)
            except ValueError as error:
                raise ValueError(f"metadata {key!r}: {error}") from error


def build_columns(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return a column for every key that some row has; the rows are in the order of `metadata`."""
    built: dict[str, Column | None] = {}
    if isinstance(metadata, Table) and all(
        map(_are_flat, chain(metadata.columns.values(), metadata.shared.values()))
    ):
        for columns, repeats in ((metadata.columns, None), (metadata.shared, np.asarray(metadata.owners))):
            for key, column in columns.items():
                built[key] = _column(len(column), list(range(len(column))), list(column), repeats)
    else:
        rows_of_key: defaultdict[str, list[int]] = defaultdict(list)
        values_of_key: defaultdict[str, list[Any]] = defaultdict(list)
        for row, values in enumerate(map(leaves, metadata)):
            for key, leaf in values.items():
                rows_of_key[key].append(row)
                values_of_key[key].append(leaf)
        built |= {key: _column(len(metadata), rows, values_of_key[key]) for key, rows in rows_of_key.items()}
    return {key: column for key, column in built.items() if column is not None}


def _are_flat(values: Sequence[Any]) -> bool:
    """Return whether values are scalars and lists of scalars."""
    kinds = set(map(type, values))
    lists = [value for value in values if type(value) in (list, tuple)] if kinds & {list, tuple} else []
    return (kinds - {list, tuple}).union(map(type, chain.from_iterable(lists))) <= _SCALARS


def _column(
    n: int, rows: list[int], values: list[Any], repeats: NDArray[np.int64] | None = None
) -> Column | None:
    """Return the column of a key, None where it has only nulls.

    Args:
        values: a scalar or a list of scalars of each of these rows.
        repeats: the row that each row of the column repeats, shape (rows of the column,); None where each is its own.
    """
    kinds = set(map(type, values))
    if type(None) in kinds:
        is_there = [value is not None for value in values]
        rows, values = list(compress(rows, is_there)), list(compress(values, is_there))
    if not values:
        return None
    is_list, scalars, sequences = np.zeros(0, np.bool_), values, []
    if not kinds <= _SCALARS:
        is_list = np.fromiter((isinstance(value, list | tuple) for value in values), np.bool_, len(values))
        scalars, sequences = list(compress(values, ~is_list)), list(compress(values, is_list))
    integers, floats, strings, atom_codes = _encode(scalars + list(chain.from_iterable(sequences)))
    codes, lists = atom_codes, NO_LISTS
    first_list = FIRST_INTEGER + len(integers) + len(floats) + len(strings)
    if sequences:
        codes = np.empty(len(values), np.uint32)
        codes[~is_list] = atom_codes[: len(scalars)]
        owners = np.repeat(np.arange(len(sequences)), list(map(len, sequences)))
        codes[is_list], lists = distinct_lists(owners, atom_codes[len(scalars) :], len(sequences), first_list)
    codes_of_rows = np.zeros(n, np.min_scalar_type(first_list + len(lists) - 1))
    codes_of_rows[rows] = codes
    return Column.of(
        codes_of_rows if repeats is None else codes_of_rows[repeats], integers, floats, strings, lists
    )


def _encode(atoms: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64], Strings, NDArray[np.uint32]]:
    """Return the distinct integers, floats and strings, and the code of each atom; BARE if it equals nothing."""
    groups = _by_type(atoms)
    codes = np.full(len(atoms), BARE, np.uint32)
    integers, floats, strings = NO_INTEGERS, NO_FLOATS, NO_STRINGS
    if bool in groups:
        places, truths = groups[bool]
        codes[places] = FALSE + np.array(truths, np.uint32)
    if int in groups or float in groups:
        empty: tuple[NDArray[np.int64], list[Any]] = NO_INTEGERS, []
        whole_places, whole_values, broken_places, broken_values = _numbers(
            *groups.get(int, empty), *groups.get(float, empty)
        )
        integers, floats = ascending(whole_values), ascending(broken_values)
        codes[whole_places] = FIRST_INTEGER + np.searchsorted(integers, whole_values)
        codes[broken_places] = FIRST_INTEGER + len(integers) + np.searchsorted(floats, broken_values)
    if str in groups:
        places, words = groups[str]
        distinct = sorted(set(words))
        code = dict(zip(distinct, count(FIRST_INTEGER + len(integers) + len(floats)), strict=False))
        codes[places] = np.fromiter(map(code.__getitem__, words), np.uint32, len(words))
        strings = Strings.of(list(map(utf8, distinct)))
    return integers, floats, strings, codes


def _by_type(atoms: list[Any]) -> dict[type, tuple[NDArray[np.int64], list[Any]]]:
    """Places and values of the booleans, integers of 64 bits, floats and strings among the atoms."""
    kinds = set(map(type, atoms))
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind in (bool, float, str) or (kind is int and fits_int64(min(atoms)) and fits_int64(max(atoms))):
            return {kind: (np.arange(len(atoms)), atoms)}
    groups: dict[type, tuple[list[int], list[Any]]] = {}
    for place, atom in enumerate(map(comparable, atoms)):
        if atom is not None:
            kind = next(kind for kind in (bool, int, float, str) if isinstance(atom, kind))
            places, values = groups.setdefault(kind, ([], []))
            places.append(place)
            values.append(atom)
    return {kind: (np.array(places, np.int64), values) for kind, (places, values) in groups.items()}


def _numbers(
    int_places: NDArray[np.int64], ints: list[int], float_places: NDArray[np.int64], floats: list[float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Places and values of the numbers that an int64 equals, and of the others; NaN is neither."""
    values = np.array(floats, np.float64)
    is_whole = (values == np.floor(values)) & (values >= -(2.0**63)) & (values < 2.0**63)
    is_broken = ~is_whole & ~np.isnan(values)
    return (
        np.concatenate((int_places, float_places[is_whole])),
        np.concatenate((np.array(ints, np.int64), values[is_whole].astype(np.int64))),
        float_places[is_broken],
        values[is_broken],
    )


def ascending(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the distinct values, ascending; several times as fast as np.unique where most are distinct."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def distinct_lists(
    owners: NDArray[np.int64], codes: NDArray[np.uint32], n_lists: int, first: int
) -> tuple[NDArray[np.uint32], Lists]:
    """Make sets of lists, and keep each set once.

    Args:
        owners: the list that each element belongs to, shape (elements,), 0 to n_lists - 1.
        codes: the code of each element, shape (elements,); BARE and MISSING are dropped.
        first: the code of the first distinct list.

    Returns:
        The code of each list, shape (n_lists,), BARE where nothing is left of it; and the distinct lists.
    """
    is_kept = codes > BARE
    pairs = ascending(owners[is_kept].astype(np.uint64) << np.uint64(32) | codes[is_kept].astype(np.uint64))
    elements = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    ends = np.cumsum(np.bincount((pairs >> np.uint64(32)).astype(np.int64), minlength=n_lists))[:n_lists]
    raw = elements.tobytes()
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[:n_lists]
    sets = [raw[4 * start : 4 * end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    place = {one: index for index, one in enumerate(sorted(set(filter(None, sets))))}
    list_codes = np.fromiter((first + place[one] if one else BARE for one in sets), np.uint32, n_lists)
    offsets = np.zeros(len(place) + 1, np.int64)
    np.cumsum(np.fromiter((len(one) // 4 for one in place), np.int64, len(place)), out=offsets[1:])
    distinct = np.frombuffer(b"".join(place), np.uint32).astype(np.min_scalar_type(first - 1))
    return list_codes, Lists(offsets.astype(np.min_scalar_type(len(distinct))), distinct)


Part: TypeAlias = tuple[Column | None, NDArray[np.bool_]]
"""A segment's column, None where no row has the key, and the mask of the rows to keep, shape (rows,)."""


def merge_column(parts: Sequence[Part], scratch: Scratch = IN_MEMORY) -> Column | None:
    """Return the column of the rows kept of all parts, in order; None where none of them has the key."""
    inputs = [_Input.of(column, keep) for column, keep in parts if column]
    if not any(one.is_used.any() for one in inputs):
        return None
    integers = ascending(np.concatenate([one.numbers(one.column.integers, FIRST_INTEGER) for one in inputs]))
    floats = ascending(
        np.concatenate([one.numbers(one.column.floats, one.column.first_float) for one in inputs])
    )
    first_float = FIRST_INTEGER + len(integers)
    first_string = first_float + len(floats)
    strings = _merge_strings(inputs, first_string, scratch)
    first_list = first_string + len(strings)
    owners, elements, n_lists = [], [], 0
    for one in inputs:
        column, mapping = one.column, one.mapping
        mapping[:FIRST_INTEGER] = np.arange(FIRST_INTEGER)
        new_integers, new_floats = integers.searchsorted(column.integers), floats.searchsorted(column.floats)
        mapping[FIRST_INTEGER : column.first_float] = FIRST_INTEGER + new_integers
        mapping[column.first_float : column.first_string] = first_float + new_floats
        owner, element = column.lists.elements_of(one.lists())
        owners.append(n_lists + owner)
        elements.append(mapping[element])
        n_lists += len(one.lists())
    list_codes, lists = distinct_lists(np.concatenate(owners), np.concatenate(elements), n_lists, first_list)
    for one in inputs:
        in_use = one.lists()
        one.mapping[one.column.first_list + in_use], list_codes = np.split(list_codes, [len(in_use)])
    dtype, used = np.min_scalar_type(first_list + len(lists) - 1), iter(inputs)
    codes = np.concatenate(
        [
            np.zeros(np.count_nonzero(keep), dtype)
            if part is None
            else next(used).mapping.astype(dtype)[part.row_codes()[keep]]
            for part, keep in parts
        ]
    )
    return Column.of(codes, integers, floats, strings, lists)


class _Input(NamedTuple):
    """A column, what rows that are kept use of it, and its codes in the merged column.

    Attributes:
        is_used: which codes are in use, by a row or by an element of a list in use; shape (n_codes,).
        mapping: the new code of each code in use, shape (n_codes,), uint32.
    """

    column: Column
    is_used: NDArray[np.bool_]
    mapping: NDArray[np.uint32]

    @classmethod
    def of(cls, column: Column, keep: NDArray[np.bool_]) -> _Input:
        """Return what the rows in `keep`, shape (rows,), use of a column."""
        is_used = np.zeros(column.n_codes, np.bool_)
        is_used[column.row_codes()[keep]] = True
        is_used[MISSING] = False
        _, elements = column.lists.elements_of(np.flatnonzero(is_used[column.first_list :]))
        is_used[elements] = True
        return cls(column, is_used, np.zeros(column.n_codes, np.uint32))

    def numbers(self, numbers: Array, first: int) -> Array:
        """Return those in use of the numbers whose codes begin at `first`."""
        return numbers[self.is_used[first : first + len(numbers)]]

    def texts(self, places: slice) -> list[bytes]:
        """Return the strings in use of those at these places."""
        is_used = self.is_used[self.column.first_string : self.column.first_list][places]
        return list(compress(self.column.strings.between(places.start, places.stop), is_used.tolist()))

    def place_texts(self, places: slice, codes: list[int]) -> None:
        """Map the strings in use of those at these places to their codes in the merged column."""
        strings = slice(self.column.first_string, self.column.first_list)
        self.mapping[strings][places][self.is_used[strings][places]] = codes

    def lists(self) -> NDArray[np.int64]:
        """Return the places of the lists in use."""
        return np.flatnonzero(self.is_used[self.column.first_list :])


def _merge_strings(inputs: Sequence[_Input], first: int, scratch: Scratch) -> Strings:
    """Return the strings in use of all inputs in order, whose codes begin at `first`, and map those of inputs to them.

    Reads one range of values at a time, since Python takes 300 bytes for a string that it has to find again.
    """
    block, offsets = scratch.growing(np.uint8), scratch.growing(np.int64)
    offsets.append(np.zeros(1, np.int64))
    size, greatest = 0, b""
    for places in _ranges([one.column.strings for one in inputs]):
        texts = list(map(_Input.texts, inputs, places))
        distinct = sorted(set(chain.from_iterable(texts)))
        if not distinct:
            continue
        require(not size or distinct[0] > greatest, "strings must rise")
        code = dict(zip(distinct, count(first), strict=False))
        for one, its_places, its_texts in zip(inputs, places, texts, strict=True):
            one.place_texts(its_places, list(map(code.__getitem__, its_texts)))
        merged = Strings.of(distinct)
        block.append(merged.block)
        offsets.append(merged.offsets[1:].astype(np.int64) + size)
        size, first = size + len(merged.block), first + len(distinct)
        greatest = distinct[-1]
    return Strings(block.array(), offsets.array().astype(np.min_scalar_type(size)))


def _ranges(inputs: Sequence[Strings]) -> Iterator[list[slice]]:
    """Yield a slice of each input, so that all slices together hold one range of values, and few of them."""
    step = max(1, PIECE // len(inputs))
    begins, sizes = [0] * len(inputs), list(map(len, inputs))
    while begins != sizes:
        ends = [min(begin + step, size) for begin, size in zip(begins, sizes, strict=True)]
        windows = list(zip(inputs, begins, ends, strict=True))
        greatest = min(strings.item(end - 1) for strings, begin, end in windows if begin < end)
        ends = [bisect_right(range(end), greatest, begin, key=one.item) for one, begin, end in windows]
        require(ends != begins, "strings must rise")
        yield list(map(slice, begins, ends))
        begins = ends
