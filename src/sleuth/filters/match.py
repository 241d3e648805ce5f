"""Does a row match a filter: the one truth table in plain Python, with which every fast way agrees.

A row's metadata is what JSON can hold. Objects are read through their leaves: `{"author": {"name": "Ann"}}`
has the keys `author` and `author.name`, and a list of objects gives each leaf the list of its members'
values. Then, for a key and a value v of the filter:

| operator  | true if the row's value is                                                                 |
|-----------|--------------------------------------------------------------------------------------------|
| eq        | a scalar equal to v, or a list with an element equal to v                                  |
| ieq       | a string equal to v without case (`str.casefold`), or a list with such an element          |
| ne        | anything else: true if eq is false, also if the key is missing                             |
| in, nin   | in: eq is true for one of the values; nin: in is false                                     |
| gt … lte  | a number (if v is one) or a string (if v is one) in that order; never a list               |
| prefix    | a string that begins with v; never a list                                                  |
| contains  | a list with an element equal to v; never a scalar                                          |
| substring | a string that contains v, or a list with such an element                                   |
| exists    | anything except null; empty lists and objects exist. With false: missing or null           |
| And, Or   | And: all parts are true; Or: at least one part is true                                     |
| Not       | its part is false, also because of a missing key or another type                           |

Types: strings, numbers and booleans are three kinds, and values of two kinds are neither equal nor in order:
`True` is not `1`, `"5"` is not `5`. Integers and floats compare by value, exactly; an integer beyond 64 bits
in a row counts as the nearest float. Strings are ordered by code point, with case and accents as they are.
NaN in a row exists and equals nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from sleuth.arguments import fits_int64
from sleuth.filters.tree import And, Compare, Filter, Not, Or, Scalar, negations_inward

Leaf: TypeAlias = Scalar | list[Scalar]
"""What a key holds, objects read through: a scalar, or a list's elements, none of them null or NaN."""


def matches(filter: Filter | None, metadata: Mapping[str, Any]) -> bool:
    """Return whether a row with this metadata matches; no filter matches every row."""
    return filter is None or _matches(filter, leaves(metadata))


def lies_within(filter: Filter | None, metadata: Mapping[str, Any]) -> bool:
    """Return whether a row matches by every value of its lists: `tenant:acme` holds `["acme"]`, not `["acme", "b"]`.

    A list matches `tenant:acme` where one element does, so that a row with two tenants is a row of both.
    """
    return filter is None or _matches(negations_inward(filter), leaves(metadata), _compare_each)


def _compare_each(test: Compare, leaf: Leaf | None) -> bool:
    values: list[Leaf] = [[element] for element in leaf] if isinstance(leaf, list) and leaf else []
    return _compare(test, leaf) and all(_compare(test, value) for value in values)


def leaves(metadata: Mapping[str, Any]) -> Mapping[str, Leaf]:
    """Return every key, dotted if nested, with its value. A key spelled twice has both values, as a list."""
    if all(type(value) is str for value in metadata.values()):
        return metadata
    values: dict[str, Leaf] = {}
    pending = [(key, value, False) for key, value in reversed(list(metadata.items()))]
    while pending:
        key, value, in_list = pending.pop()
        if value is None:
            continue
        if isinstance(value, Mapping):
            values[key] = _as_list(values[key]) if key in values else []
            pending += [(f"{key}.{name}", part, in_list) for name, part in reversed(list(value.items()))]
        elif isinstance(value, list | tuple):
            values[key] = _as_list(values[key]) if key in values else []
            pending += [(key, element, True) for element in reversed(value)]
        else:
            scalar = comparable(value)
            if key in values:
                values[key] = _as_list(values[key]) + ([] if scalar is None else [scalar])
            elif scalar is None:
                values[key] = []
            else:
                values[key] = [scalar] if in_list else scalar
    return values


def comparable(value: object) -> Scalar | None:
    """Return the value as comparisons see it; None if it equals nothing: NaN, and values that JSON cannot hold."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int) and not fits_int64(value):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value if isinstance(value, int | float) and not math.isnan(value) else None


def _as_list(leaf: Leaf) -> list[Scalar]:
    return leaf if isinstance(leaf, list) else [leaf]


def _compare(test: Compare, leaf: Leaf | None) -> bool:
    name = test.operator
    if name == "exists":
        return (leaf is not None) == test.value
    if name in ("ne", "nin"):
        return leaf is None or not _equals_any(leaf, test.value)
    return leaf is not None and _TESTS[name](leaf, test.value)


def _matches(
    filter: Filter, row: Mapping[str, Leaf], compare: Callable[[Compare, Leaf | None], bool] = _compare
) -> bool:
    if isinstance(filter, And):
        return all(_matches(part, row, compare) for part in filter.parts)
    if isinstance(filter, Or):
        return any(_matches(part, row, compare) for part in filter.parts)
    if isinstance(filter, Not):  # what must not hold is compared as in any row
        return not _matches(filter.part, row)
    return compare(filter, row.get(filter.key))


def _equals_any(leaf: Leaf, value: object) -> bool:
    options = value if isinstance(value, tuple) else (value,)
    return any(one == option and kind(one) is kind(option) for one in _as_list(leaf) for option in options)


def _in_order(holds: Callable[[Any, Any], bool], leaf: Leaf, value: object) -> bool:
    return not isinstance(leaf, list) and kind(leaf) is kind(value) and holds(leaf, value)


_TESTS: Final[Mapping[str, Callable[[Leaf, Any], bool]]] = {
    "eq": _equals_any,
    "ieq": lambda leaf, value: any(
        isinstance(element, str) and element.casefold() == value.casefold() for element in _as_list(leaf)
    ),
    "in": _equals_any,
    "contains": lambda leaf, value: isinstance(leaf, list) and _equals_any(leaf, value),
    "substring": lambda leaf, value: any(isinstance(one, str) and value in one for one in _as_list(leaf)),
    "prefix": lambda leaf, value: isinstance(leaf, str) and leaf.startswith(value),
    "gt": partial(_in_order, operator.gt),
    "gte": partial(_in_order, operator.ge),
    "lt": partial(_in_order, operator.lt),
    "lte": partial(_in_order, operator.le),
}


def kind(value: object) -> type:
    """`bool`, `str`, or `float` for every number: only values of one kind can be equal or in order."""
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else float
