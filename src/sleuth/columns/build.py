"""Builds columns from many mappings, by key and by type.

Rows with the same keys are taken together and read key by key; the values of a key are taken apart by type, and each
type goes to numpy or to a sort at once. Only rows that hold objects are first read through by `leaves` of the filters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, compress, count
from operator import itemgetter
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.columns.column import (
    BARE,
    FALSE,
    FIRST_INTEGER,
    NO_FLOATS,
    NO_INTEGERS,
    NO_LISTS,
    NO_STRINGS,
    Column,
    Lists,
    Strings,
)
from sleuth.filters.match import comparable, leaves
from sleuth.store.legs.leg import Table

_Number = TypeVar("_Number", bound=np.generic)
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def build_columns(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Column]:
    """Return a column for every key that some row has; the rows are in the order of `metadata`."""
    n = len(metadata)
    rows_of_key: defaultdict[str, list[int]] = defaultdict(list)
    values_of_key: defaultdict[str, list[Any]] = defaultdict(list)
    if isinstance(metadata, Table):
        rows_of_key.update({key: list(range(n)) for key in metadata.columns})
        values_of_key.update(zip(metadata.columns, map(list, metadata.columns.values()), strict=True))
    else:
        shapes: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for row, keys in enumerate(map(tuple, metadata)):
            shapes[keys].append(row)
        nested: list[int] = []
        for keys, rows in shapes.items():
            mappings = list(map(metadata.__getitem__, rows))
            columns: list[list[Any]] = []
            for key in keys:
                values = list(map(itemgetter(key), mappings))
                if not (set(map(type, values)) <= _SCALARS or _are_flat(values)):
                    nested += rows
                    break
                columns.append(values)
            else:
                for key, values in zip(keys, columns, strict=True):
                    rows_of_key[key] += rows
                    values_of_key[key] += values
        for row in nested:
            for key, leaf in leaves(metadata[row]).items():
                rows_of_key[key].append(row)
                values_of_key[key].append(leaf)
    built = {}
    for key, rows in rows_of_key.items():
        if (column := _column(n, rows, values_of_key[key])) is not None:
            built[key] = column
    return built


def _are_flat(values: list[Any]) -> bool:
    """Return whether values are scalars and lists of scalars."""
    kinds = set(map(type, values)) - {list, tuple}
    lists = [value for value in values if type(value) in (list, tuple)]
    return kinds.union(map(type, chain.from_iterable(lists))) <= _SCALARS


def _column(n: int, rows: list[int], values: list[Any]) -> Column | None:
    """Return the column of a key, None where it has only nulls.

    Args:
        values: a scalar or a list of scalars of each of these rows.
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
    return Column.of(codes_of_rows, integers, floats, strings, lists)


def _encode(
    atoms: list[Any],
) -> tuple[NDArray[np.int64], NDArray[np.float64], Strings, NDArray[np.uint32]]:
    """Return the distinct integers, floats and strings, and the code of each atom; BARE if it equals nothing."""
    groups = _by_type(atoms)
    codes = np.full(len(atoms), BARE, np.uint32)
    integers, floats, strings = NO_INTEGERS, NO_FLOATS, NO_STRINGS
    if bool in groups:
        places, truths = groups[bool]
        codes[places] = FALSE + np.array(truths, np.uint32)
    if int in groups or float in groups:
        none: tuple[NDArray[np.int64], list[Any]] = NO_INTEGERS, []
        whole_places, whole_values, broken_places, broken_values = _numbers(
            *groups.get(int, none), *groups.get(float, none)
        )
        integers, floats = ascending(whole_values), ascending(broken_values)
        codes[whole_places] = FIRST_INTEGER + np.searchsorted(integers, whole_values)
        codes[broken_places] = FIRST_INTEGER + len(integers) + np.searchsorted(floats, broken_values)
    if str in groups:
        places, words = groups[str]
        distinct = sorted(set(words))
        code = dict(zip(distinct, count(FIRST_INTEGER + len(integers) + len(floats)), strict=False))
        codes[places] = np.fromiter(map(code.__getitem__, words), np.uint32, len(words))
        strings = Strings.of([word.encode("utf-8", "surrogatepass") for word in distinct])
    return integers, floats, strings, codes


def _by_type(atoms: list[Any]) -> dict[type, tuple[NDArray[np.int64], list[Any]]]:
    """Places and values of the booleans, integers of 64 bits, floats and strings among the atoms."""
    kinds = set(map(type, atoms))
    if len(kinds) == 1:
        kind = kinds.pop()
        is_int64 = kind is int and min(atoms) >= -(2**63) and max(atoms) < 2**63
        if is_int64 or kind in (bool, float, str):
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
