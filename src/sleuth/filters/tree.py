"""The filter tree: `And`, `Or` and `Not` over comparisons of one metadata key with one value.

Trees are values: immutable, hashable, equal only where keys, operators, values and the types of the values
are (`True` is not `1` is not `1.0`). Whatever cannot be a filter cannot be built: every check is made here,
once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from sleuth.arguments import fits_int64
from sleuth.errors import FilterError
from sleuth.filters.values import PLAIN, Value, plain_scalar

Scalar: TypeAlias = str | int | float | bool
Operator: TypeAlias = Literal[
    "eq", "ieq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "exists", "prefix", "contains", "substring"
]
OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)
ORDERED: Final = frozenset({"gt", "gte", "lt", "lte"})
MEMBERSHIP: Final = frozenset({"in", "nin"})
_OPPOSITES: Final[dict[Operator, Operator]] = {"eq": "ne", "ne": "eq", "in": "nin", "nin": "in"}
REVERSED_ORDERS: Final[dict[Operator, Operator]] = {"gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}
"""Not the negations: an order and its reverse are both false where the key is missing."""
MAX_DEPTH: Final = 32
"""Nesting of a filter, in nodes from the root to a comparison; a hand-written filter has 2 to 4."""


class _Node:
    """The operators of Python on filters: `a & b`, `a | b`, `~a`; others, which would lose a part, are refused."""

    __slots__ = ()

    def __and__(self, other: Filter) -> And:
        return And((*_parts(self, And), *_parts(other, And)))

    def __or__(self, other: Filter) -> Or:
        return Or((*_parts(self, Or), *_parts(other, Or)))

    def __invert__(self) -> Not:
        return Not(self)  # type: ignore[arg-type]  # every subclass is one of the four

    def __bool__(self) -> bool:
        raise FilterError(
            "filters must be joined with '&' and '|' and negated with '~', got 'and', 'or', 'not', a chain as in "
            "1 < key < 5, or a test whether there is one ('is None' tests that)"
        )


def _parts(node: Any, kind: type[And] | type[Or]) -> tuple[Filter, ...]:
    return node.parts if type(node) is kind else (node,)


@dataclass(frozen=True, slots=True, eq=False)
class Compare(_Node):
    """One key against one value.

    Attributes:
        key: a metadata key; a dot steps into an object, as in "author.name".
        value: a scalar; a tuple of scalars for "in" and "nin"; a bool for "exists"; a string for "ieq", "prefix" and
            "substring"; a number or a string for the four orders. Numbers are finite, integers fit 64 bits. Members
            of an enumeration, dates, numpy's scalars and other values are kept as metadata keeps them (`plain_scalar`).
    """

    key: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key or self.key.startswith("$"):
            raise FilterError(
                f"key must be a non-empty string that does not begin with '$', got {self.key!r}"
            )
        original = self.value
        value = tuple(map(_plain, original)) if isinstance(original, tuple) else _plain(original)
        if self.operator not in OPERATORS:
            raise FilterError(f"operator must be one of {', '.join(OPERATORS)}, got {self.operator!r}")
        if self.operator in MEMBERSHIP:
            if not isinstance(value, tuple) or not value:
                raise FilterError(
                    f"value of {self.operator!r} must be a list of at least one value, got {value!r}"
                )
            for element in value:
                _check_scalar(self.operator, element)
        elif self.operator == "exists":
            _check_type(self.operator, value, bool, "True or False")
        elif self.operator in ("ieq", "prefix", "substring"):
            _check_type(self.operator, value, str, "a string")
        else:
            _check_scalar(self.operator, value)
            if self.operator in ORDERED and isinstance(value, bool):
                raise FilterError(f"value of {self.operator!r} must be a number or a string, got {value!r}")
        object.__setattr__(self, "key", _plain(self.key))
        object.__setattr__(self, "value", value)

    def _identity(self) -> tuple[Any, ...]:
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return self.key, self.operator, self.value, tuple(map(type, values))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compare) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.key, self.operator, self.value))


@dataclass(frozen=True, slots=True)
class And(_Node):
    """True where every part is. Two parts at least: `all_of` takes any number."""

    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts("And", self.parts)


@dataclass(frozen=True, slots=True)
class Or(_Node):
    """True where any part is. Two parts at least: `any_of` takes any number."""

    parts: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_parts("Or", self.parts)


@dataclass(frozen=True, slots=True)
class Not(_Node):
    """True where its part is not: missing keys and other types included."""

    part: Filter

    def __post_init__(self) -> None:
        _check_parts("Not", (self.part,), at_least=1)


Filter: TypeAlias = And | Or | Not | Compare
FilterForm: TypeAlias = Filter | Mapping[str, Any] | str | None
"""What calls take as `filter`: `as_filter` describes the forms."""


def all_of(*filters: Filter | None) -> Filter | None:
    """Return the filter that is true if all of these are; None, which is no filter, is left out."""
    parts = tuple(part for part in filters if part is not None)
    return And(parts) if len(parts) > 1 else next(iter(parts), None)


def any_of(*filters: Filter) -> Filter:
    """Return the filter that is true if any of these is.

    Raises:
        FilterError: an empty list.
    """
    return filters[0] if len(filters) == 1 else Or(filters)


class Field:
    """A metadata key, to be compared: `field("year") >= 2020`."""

    __slots__ = ("key",)
    __hash__ = None  # type: ignore[assignment]  # == makes a filter

    def __init__(self, key: str) -> None:
        self.key = key

    def __eq__(self, value: Value) -> Compare:  # type: ignore[override]
        return Compare(self.key, "eq", _plain(value))

    def __ne__(self, value: Value) -> Compare:  # type: ignore[override]
        return Compare(self.key, "ne", _plain(value))

    def equals_in_any_case(self, text: str) -> Compare:
        """True where the value, or an element of a list, is this string, whatever the case of letters."""
        return Compare(self.key, "ieq", text)

    def __gt__(self, value: Value) -> Compare:
        return Compare(self.key, "gt", _plain(value))

    def __ge__(self, value: Value) -> Compare:
        return Compare(self.key, "gte", _plain(value))

    def __lt__(self, value: Value) -> Compare:
        return Compare(self.key, "lt", _plain(value))

    def __le__(self, value: Value) -> Compare:
        return Compare(self.key, "lte", _plain(value))

    def is_in(self, values: Iterable[Value]) -> Compare:
        """True where the value, or an element of a list, is one of these."""
        return Compare(self.key, "in", _listed(values))

    def not_in(self, values: Iterable[Value]) -> Compare:
        """True where `is_in` is not, so where the key is missing too."""
        return Compare(self.key, "nin", _listed(values))

    def exists(self, present: bool = True) -> Compare:
        """True if the key has a value other than null; with False, if it has no such value."""
        return Compare(self.key, "exists", present)

    def starts_with(self, prefix: str) -> Compare:
        """True where the value is a string that begins so."""
        return Compare(self.key, "prefix", prefix)

    def contains(self, element: Value) -> Compare:
        """True where the value is a list with this element."""
        return Compare(self.key, "contains", _plain(element))

    def has_substring(self, text: str) -> Compare:
        """True where the value, or an element of a list, is a string with this text in it."""
        return Compare(self.key, "substring", text)


def _listed(values: Iterable[Value]) -> tuple[Scalar, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise FilterError(f"values must be a list, got {values!r}: write [{values!r}]")
    return tuple(map(_plain, values))


def field(key: str) -> Field:
    """Name a metadata key to be compared: `(field("year") >= 2020) & ~field("lang").is_in(["de"])`."""
    return Field(key)


def children(filter: Filter) -> tuple[Filter, ...]:
    """Return the filters that this one is made of."""
    if isinstance(filter, And | Or):
        return filter.parts
    return (filter.part,) if isinstance(filter, Not) else ()


def keys_in(filter: Filter) -> frozenset[str]:
    """Return the metadata keys that a filter compares."""
    keys, pending = set(), [filter]
    while pending:
        node = pending.pop()
        if isinstance(node, Compare):
            keys.add(node.key)
        pending += children(node)
    return frozenset(keys)


def in_any_case(filter: Filter) -> Filter:
    """Return a filter that ignores case when it compares strings for equality; its other conditions stay."""
    if isinstance(filter, And | Or):
        return type(filter)(tuple(in_any_case(part) for part in filter.parts))
    if isinstance(filter, Not) or filter.operator not in ("eq", "in"):
        return filter
    values = filter.value if isinstance(filter.value, tuple) else (filter.value,)
    return any_of(*(Compare(filter.key, "ieq" if isinstance(one, str) else "eq", one) for one in values))


def negations_inward(filter: Filter) -> Filter:
    """Return an equal filter, by De Morgan's laws, with `Not` only over comparisons without an opposite."""
    if isinstance(filter, And | Or):
        return type(filter)(tuple(negations_inward(part) for part in filter.parts))
    return _opposite(filter.part) if isinstance(filter, Not) else filter


def _opposite(filter: Filter) -> Filter:
    if isinstance(filter, And):
        return Or(tuple(_opposite(part) for part in filter.parts))
    if isinstance(filter, Or):
        return And(tuple(_opposite(part) for part in filter.parts))
    if isinstance(filter, Not):
        return negations_inward(filter.part)
    if filter.operator == "exists":
        return Compare(filter.key, "exists", not filter.value)
    opposite = _OPPOSITES.get(filter.operator)
    return Not(filter) if opposite is None else Compare(filter.key, opposite, filter.value)


def check_depth(filter: Filter) -> None:
    """Refuse a tree that is nested deeper than `MAX_DEPTH`.

    Raises:
        FilterError: it is.
    """
    deepest, pending = 0, [(filter, 1)]  # needs no stack, so takes any tree
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level)
        pending += [(part, level + 1) for part in children(node)]
    if deepest > MAX_DEPTH:
        raise FilterError(f"filter must be nested at most {MAX_DEPTH} deep, got {deepest}")


def _plain(value: Any) -> Any:
    """Return the value as one of the four types, so that trees print and compare by value; other values as they are."""
    if type(value) in PLAIN:
        return value
    plain = plain_scalar(value)
    return value if plain is None else plain


def _check_parts(name: str, parts: object, *, at_least: int = 2) -> None:
    if not isinstance(parts, tuple) or len(parts) < at_least:
        raise FilterError(f"{name} must be given a tuple of at least {at_least} filters, got {parts!r}")
    for part in parts:
        if not isinstance(part, _Node):
            raise FilterError(f"a part of {name} must be a filter, got {part!r}")


def _check_type(operator: str, value: object, kind: type, rule: str) -> None:
    if not isinstance(value, kind):
        raise FilterError(f"value of {operator!r} must be {rule}, got {value!r}")


def _check_scalar(operator: str, value: object) -> None:
    if not isinstance(value, str | int | float):
        hint = " (a missing key is asked for with 'exists')" if value is None else ""
        raise FilterError(
            f"value of {operator!r} must be a string, a number, True or False, got {value!r}{hint}"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise FilterError(f"value of {operator!r} must be a finite number, got {value!r}")
    if isinstance(value, int) and not fits_int64(value):
        number = repr(value) if (bits := value.bit_length()) <= 256 else f"one of {bits:,} bits"
        raise FilterError(f"value of {operator!r} must be an integer of at most 64 bits, got {number}")
