"""Does a row match a filter? The one truth table, and its plain Python form: every fast way must agree with it.

A row's metadata is what JSON can hold. Objects are read through their leaves: `{"author": {"name": "Ann"}}` has the
keys `author` and `author.name`, and a list of objects gives each leaf the list of what its members hold. Then, for a
key and a value v of the filter:

| operator  | true where the row's value is                                                                         |
|-----------|-------------------------------------------------------------------------------------------------------|
| eq        | a scalar equal to v, or a list with an element equal to v                                             |
| ne        | anything else: where `eq` is false, so a missing key too                                              |
| in, nin   | `eq` for any of the values; where `in` is false                                                       |
| gt … lte  | a number (where v is a number) or a string (where v is a string) in that order; a list never          |
| prefix    | a string that begins with v; a list never                                                             |
| contains  | a list with an element equal to v; a scalar never                                                     |
| substring | a string with v in it, or a list with such an element                                                 |
| exists    | anything but missing or null; an empty list and an object exist (`exists: false`: missing or null)    |
| And, Or   | all, any                                                                                              |
| Not       | exactly the rows where its part is false, missing keys and other types included                       |

Types: strings, numbers and booleans are three kinds, and values of two kinds are neither equal nor in order: `True` is
not `1`, `"5"` is not `5`. Integers and floats compare by value, exactly; an integer beyond 64 bits in a row counts
as the nearest float. Strings are ordered by code point, with case and accents as they are. NaN in a row exists and
equals nothing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sleuth.filters.tree import INT64, And, Compare, Filter, Not, Or, Scalar

Leaf: TypeAlias = Scalar | list[Scalar]
"""What a key holds once objects are read through: a scalar, or the elements of a list (none of them null or NaN)."""

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def matches(filter: Filter | None, metadata: Mapping[str, Any]) -> bool:
    """Whether a row with this metadata matches; no filter matches every row."""
    return filter is None or _matches(filter, leaves(metadata))


def leaves(metadata: Mapping[str, Any]) -> Mapping[str, Leaf]:
    """Every key, dotted where nested, with what it holds. A key that is spelled twice has both values, as a list."""
    if all(type(value) is str for value in metadata.values()):
        return metadata
    found: dict[str, Leaf] = {}
    pending = [(key, value, False) for key, value in reversed(metadata.items())]
    while pending:
        key, value, listed = pending.pop()
        if value is None:
            continue
        if isinstance(value, Mapping):
            found.setdefault(key, [])
            pending += [(f"{key}.{name}", part, listed) for name, part in reversed(value.items())]
        elif isinstance(value, list | tuple):
            found[key] = _as_list(found[key]) if key in found else []
            pending += [(key, element, True) for element in reversed(value)]
        else:
            scalar = comparable(value)
            if key in found:
                found[key] = _as_list(found[key]) + ([] if scalar is None else [scalar])
            elif scalar is None:
                found[key] = []
            else:
                found[key] = [scalar] if listed else scalar
    return found


def comparable(value: object) -> Scalar | None:
    """The value as comparisons see it; None where it equals nothing: NaN, and what JSON has no word for."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if value in INT64 else _nearest_float(value)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return None


def _nearest_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _as_list(leaf: Leaf) -> list[Scalar]:
    return leaf if isinstance(leaf, list) else [leaf]


def _matches(filter: Filter, row: Mapping[str, Leaf]) -> bool:
    if isinstance(filter, And):
        return all(_matches(part, row) for part in filter.parts)
    if isinstance(filter, Or):
        return any(_matches(part, row) for part in filter.parts)
    if isinstance(filter, Not):
        return not _matches(filter.part, row)
    return _compare(filter, row.get(filter.key))


def _compare(test: Compare, leaf: Leaf | None) -> bool:
    name, value = test.operator, test.value
    if name == "exists":
        return (leaf is not None) == value
    if name in ("ne", "nin"):
        return not _equals_any(leaf, value)
    if leaf is None:
        return False
    if name in ("eq", "in"):
        return _equals_any(leaf, value)
    if name == "contains":
        return isinstance(leaf, list) and _equals_any(leaf, value)
    if name == "substring":
        return any(isinstance(element, str) and str(value) in element for element in _as_list(leaf))
    if isinstance(leaf, list) or not same_kind(leaf, value):
        return False
    if name == "prefix":
        return str(leaf).startswith(str(value))
    return _ORDERS[name](leaf, value)


def _equals_any(leaf: Leaf | None, value: object) -> bool:
    if leaf is None:
        return False
    wanted = value if isinstance(value, tuple) else (value,)
    return any(one == other and same_kind(one, other) for one in _as_list(leaf) for other in wanted)


def same_kind(one: object, other: object) -> bool:
    """Whether both are strings, both booleans or both numbers."""
    return kind(one) is kind(other)


def kind(value: object) -> type:
    """`bool`, `str`, or `float` for every number."""
    if isinstance(value, bool):
        return bool
    return str if isinstance(value, str) else float
