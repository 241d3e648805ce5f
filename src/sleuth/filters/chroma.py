"""Filters in the form of Chroma's `where` dict.

Sources: docs.trychroma.com/reference/where-filter, and chromadb 1.5.9 asked row by row. `$and` and `$or` have
at least two members, a comparison has one operator, the values of `$in` are of one type. `$ne`, `$nin` and
`$not_contains` hold where the key is missing; `True` is not `1`, and `1` is `1.0`, save inside lists, where
an integer is sought among integers only. A fraction is cut before integers are compared with it, so `1` is in
order and equal to it as to the whole number: those are asked for apart. Lists are seen by `$contains`
alone, so equality asks twice.

There is no "exists", no prefix, no substring of metadata, no order of strings and no "not" of an order: those
are refused. All other filters are true for exactly the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from sleuth.arguments import fits_int64
from sleuth.errors import FilterError
from sleuth.filters.text import negation_refused, to_text
from sleuth.filters.tree import (
    ORDERED,
    And,
    Compare,
    Filter,
    Not,
    Operator,
    Or,
    Scalar,
    negations_inward,
)

_WITHIN: Final[Mapping[Operator, tuple[str, str, str]]] = {
    "eq": ("$eq", "$contains", "$or"),
    "in": ("$in", "$contains", "$or"),
    "ne": ("$ne", "$not_contains", "$and"),
    "nin": ("$nin", "$not_contains", "$and"),
}
"""For equality: the operator for scalars, the one for lists, and how the two join."""


def to_chroma(filter: Filter, *, lists: bool = True) -> dict[str, Any]:
    """Translate a filter into Chroma's `where`.

    Args:
        lists: whether rows may hold lists, which Chroma knows since 1.5; False gives the form that older
            servers take, which is as exact where no row holds a list.

    Raises:
        FilterError: Chroma cannot say this; the message names the operator.
    """
    return _where(negations_inward(filter), lists)


def _where(filter: Filter, lists: bool) -> dict[str, Any]:
    if isinstance(filter, And | Or):
        name = "$and" if isinstance(filter, And) else "$or"
        return {name: [_where(part, lists) for part in filter.parts]}
    test, is_negated = (filter.part, True) if isinstance(filter, Not) else (filter, False)
    assert isinstance(test, Compare)  # noqa: S101  # negations_inward leaves no other
    if test.operator == "contains" and lists:
        operator, joint = ("$not_contains", "$and") if is_negated else ("$contains", "$or")
        return _joined(joint, _per_element(test, operator))
    if is_negated:
        raise _refused(test, negation_refused(test))
    if test.operator in _WITHIN:
        return _equality(test, lists)
    if test.operator not in ORDERED:
        raise _refused(test, repr(test.operator))
    if isinstance(test.value, str):
        raise _refused(test, f"{test.operator!r} of a string")
    plain = {test.key: {f"${test.operator}": test.value}}
    if not _is_fraction(test.value):
        return plain
    below = test.operator in ("lt", "lte")
    integer_test = {test.key: {"$lte": math.floor(test.value)} if below else {"$gte": math.ceil(test.value)}}
    parts = [{test.key: {"$lt" if below else "$gt": test.value}}, integer_test]
    return {
        "$or": parts + ([_equals_fraction(test.key, "eq", test.value)] if test.operator.endswith("e") else [])
    }


def _is_fraction(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and not value.is_integer()


def _equals_fraction(key: str, operator: str, value: float) -> dict[str, Any]:
    """Translate `key == value`, or `key != value`, for a value such as 1.5.

    Chroma truncates the value before it compares it with integers, so a stored 1 would equal 1.5; the test tells the
    integer apart.

    Args:
        operator: "eq" or "ne".
    """
    if operator == "eq":
        return {"$and": [{key: {"$eq": value}}, {key: {"$ne": math.trunc(value)}}]}
    return {"$or": [{key: {"$ne": value}}, {key: {"$eq": math.trunc(value)}}]}


def _equality(test: Compare, lists: bool) -> dict[str, Any]:
    """Translate "eq", "in", "ne" or "nin".

    Scalars take one test per type of value, and fractions tests of their own (`_equals_fraction`). If rows may hold
    lists, more tests seek each value among the elements.
    """
    scalar_operator, list_operator, join = _WITHIN[test.operator]
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    fractions = [value for value in values if _is_fraction(value)]
    parts = [_equals_fraction(test.key, "eq" if join == "$or" else "ne", value) for value in fractions]
    plain_values: list[Any] = [] if fractions else [test.value]
    if isinstance(test.value, tuple):
        groups: dict[type, list[Scalar]] = {}
        for value in values:
            if not _is_fraction(value):
                groups.setdefault(type(value), []).append(value)
        plain_values = list(groups.values())
    parts += [{test.key: {scalar_operator: one}} for one in plain_values]
    return _joined(join, parts + (_per_element(test, list_operator) if lists else []))


def _per_element(test: Compare, operator: str) -> list[dict[str, Any]]:
    """Make one comparison per value, and two for a whole number: lists of integers and of floats are apart."""
    values = test.value if isinstance(test.value, tuple) else (test.value,)
    elements: list[Scalar] = []
    for value in values:
        elements.append(value)
        if isinstance(value, int) and not isinstance(value, bool) and value == float(value):
            elements.append(float(value))
        elif isinstance(value, float) and value.is_integer() and fits_int64(int(value)):
            elements.append(int(value))
    return [{test.key: {operator: value}} for value in elements]


def _joined(joint: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    return parts[0] if len(parts) == 1 else {joint: parts}


def _refused(test: Compare, what: str) -> FilterError:
    names = ", ".join((*_WITHIN, *sorted(ORDERED), "contains"))
    return FilterError(
        f"operator must be one that a Chroma has ({names}), got {what}: {to_text(test)}", where=test.key
    )
