"""Builds columns from many mappings, by key and by type.

Rows with the same keys are taken together and read key by key; the values of a key are taken apart by type, and each
type goes to numpy or to a sort at once. Only rows that hold objects are first read through by `leaves` of the filters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from operator import itemgetter
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.columns.column import (
    BARE,
    FALSE,
    FIRST_INTEGER,
    NO_LISTS,
    Column,
    Lists,
    Strings,
    narrowest,
    utf8,
)
from sleuth.filters.match import comparable, leaves
from sleuth.filters.tree import fits_int64
from sleuth.store.legs.leg import Table

_Number = TypeVar("_Number", bound=np.generic)
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def build_columns(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return a column for every key that some row has; the rows are in the order of `metadata`."""
    n = len(metadata)
    return {key: _column(n, values) for key, values in _by_key(metadata).items() if values.rows}


@dataclass(slots=True)
class _Values:
    """What rows hold under one key: row `rows[i]` holds `values[i]`, a scalar or a list of scalars, never null."""

    rows: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, rows: Sequence[int], values: Sequence[Any], *, has_null: bool) -> None:
        if has_null:
            places = [index for index, value in enumerate(values) if value is not None]
            rows, values = [rows[index] for index in places], [values[index] for index in places]
        self.rows += rows
        self.values += values


def _by_key(metadata: Sequence[Mapping[str, Any]]) -> dict[str, _Values]:
    values_by_key: dict[str, _Values] = {}
    if isinstance(metadata, Table):
        for key, values in metadata.columns.items():
            values_by_key[key] = _Values()
            values_by_key[key].add(range(len(metadata)), values, has_null=None in values)
        return values_by_key
    nested: list[int] = []
    for keys, rows in _by_shape(metadata, range(len(metadata))).items():
        if not _collect(keys, rows, [metadata[row] for row in rows], values_by_key):
            nested += rows
    flat = {row: leaves(metadata[row]) for row in nested}
    for keys, rows in _by_shape(flat.values(), nested).items():
        _collect(keys, rows, [flat[row] for row in rows], values_by_key, is_flat=True)
    return values_by_key


def _by_shape(mappings: Iterable[Mapping[str, Any]], rows: Iterable[int]) -> dict[tuple[str, ...], list[int]]:
    """Rows by the keys they have, in the order they have them."""
    shapes: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for row, keys in zip(rows, map(tuple, mappings), strict=True):
        shapes[keys].append(row)
    return shapes


def _collect(
    keys: tuple[str, ...],
    rows: list[int],
    mappings: list[Mapping[str, Any]],
    values_by_key: dict[str, _Values],
    *,
    is_flat: bool = False,
) -> bool:
    """Add what rows of one shape hold; False, and nothing added, where it is more than scalars and lists of them."""
    columns = []
    for key in keys:
        values = list(map(itemgetter(key), mappings))
        types = set(map(type, values))
        if not is_flat and not _is_flat(types, values):
            return False
        columns.append((key, values, type(None) in types))
    for key, values, has_null in columns:
        values_by_key.setdefault(key, _Values()).add(rows, values, has_null=has_null)
    return True


def _is_flat(types: set[type], values: list[Any]) -> bool:
    """Return whether values of these types are scalars, or lists of scalars."""
    foreign_types = types - _SCALARS
    if not foreign_types:
        return True
    if not foreign_types <= {list, tuple}:
        return False
    elements = chain.from_iterable(value for value in values if type(value) in (list, tuple))
    return set(map(type, elements)) <= _SCALARS


def _column(n: int, collected: _Values) -> Column:
    values = collected.values
    is_list, scalars, sequences = np.zeros(0, np.bool_), values, []
    if any(issubclass(kind, list | tuple) for kind in set(map(type, values))):
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
    rows = np.zeros(n, narrowest(first_list + len(lists)))
    rows[collected.rows] = codes
    return Column.of(rows, integers, floats, strings, lists)


def _encode(atoms: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64], Strings, NDArray[np.uint32]]:
    """Return the distinct integers, floats and strings, and the code of each atom; BARE if it equals nothing."""
    groups = _by_type(atoms)
    codes = np.full(len(atoms), BARE, np.uint32)
    places, truths = groups[bool]
    codes[places] = FALSE + np.array(truths, np.uint32)
    whole_places, whole_values, broken_places, broken_values = _numbers(*groups[int], *groups[float])
    worded, words = groups[str]
    strings, word_codes = _strings(words)
    integers, floats = ascending(whole_values), ascending(broken_values)
    first_float = FIRST_INTEGER + len(integers)
    codes[whole_places] = FIRST_INTEGER + np.searchsorted(integers, whole_values)
    codes[broken_places] = first_float + np.searchsorted(floats, broken_values)
    codes[worded] = first_float + len(floats) + word_codes
    return integers, floats, strings, codes


def _by_type(atoms: list[Any]) -> dict[type, tuple[NDArray[np.int64], list[Any]]]:
    """Places and values of the booleans, integers of 64 bits, floats and strings among the atoms."""
    groups: dict[type, tuple[Any, list[Any]]] = {kind: ([], []) for kind in (bool, int, float, str)}
    types = set(map(type, atoms))
    if len(types) == 1 and (
        types <= {bool, float, str} or (types == {int} and fits_int64(min(atoms), max(atoms)))
    ):
        groups[types.pop()] = (range(len(atoms)), atoms)
    else:
        for place, atom in enumerate(map(comparable, atoms)):
            if atom is not None:
                kind = next(kind for kind in (bool, int, float, str) if isinstance(atom, kind))
                places, values = groups[kind]
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


def _strings(words: list[str]) -> tuple[Strings, NDArray[np.uint32]]:
    """Return the distinct strings, in order, and the place of each word among them."""
    distinct = sorted(set(words))
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    places = np.fromiter(map(place.__getitem__, words), np.uint32, len(words))
    return Strings.of(list(map(utf8, distinct))), places


def ascending(values: NDArray[_Number]) -> NDArray[_Number]:
    """Return the distinct values, ascending; several times as fast as np.unique where most are distinct."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def distinct_lists(
    owners: NDArray[np.int64], codes: NDArray[np.uint32], count: int, first: int
) -> tuple[NDArray[np.uint32], Lists]:
    """Make sets of lists, and keep each set once.

    Args:
        owners: the list that each element belongs to, shape (elements,), 0 to count - 1.
        codes: the code of each element, shape (elements,); BARE and MISSING are dropped.
        first: the code of the first distinct list.

    Returns:
        The code of each list, shape (count,), BARE where nothing is left of it; and the distinct lists.
    """
    is_kept = codes > BARE
    pairs = ascending(owners[is_kept].astype(np.uint64) << np.uint64(32) | codes[is_kept].astype(np.uint64))
    elements = (pairs & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    ends = np.cumsum(np.bincount((pairs >> np.uint64(32)).astype(np.int64), minlength=count))[:count]
    raw = elements.tobytes()
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[:count]
    sets = [raw[4 * start : 4 * end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    place = {one: index for index, one in enumerate(sorted(set(filter(None, sets))))}
    list_codes = np.fromiter((first + place[one] if one else BARE for one in sets), np.uint32, count)
    offsets = np.zeros(len(place) + 1, np.int64)
    np.cumsum(np.fromiter((len(one) // 4 for one in place), np.int64, len(place)), out=offsets[1:])
    distinct = np.frombuffer(b"".join(place), np.uint32).astype(narrowest(first))
    return list_codes, Lists(offsets.astype(narrowest(len(distinct) + 1)), distinct)
