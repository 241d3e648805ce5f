"""Filters of Bedrock's own form, evaluated as its documentation says.

Written from the documentation of the `RetrievalFilter` shape, and not from our translation to it, so that
each is a check of the other. Where the documentation says nothing of lists, a list is equal to a value if a
member is, as in the vector stores beneath.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sleuth.testing.aws_model import ServiceError

_MISSING = object()


def _same(one: object, other: object) -> bool:
    """Equality of JSON values: true is not 1."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _equals(stored: Any, value: object) -> bool:
    return (
        any(_same(member, value) for member in stored) if isinstance(stored, list) else _same(stored, value)
    )


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _ordered(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda held, value: _number(held) and holds(held, value)


def _string_contains(stored: Any, value: str) -> bool:
    members = stored if isinstance(stored, list) else [stored]
    return any(isinstance(member, str) and value in member for member in members)


_TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "equals": _equals,
    "notEquals": lambda held, value: not _equals(held, value),
    "in": lambda held, values: any(_equals(held, value) for value in values),
    "notIn": lambda held, values: not any(_equals(held, value) for value in values),
    "greaterThan": _ordered(lambda held, value: held > value),
    "greaterThanOrEquals": _ordered(lambda held, value: held >= value),
    "lessThan": _ordered(lambda held, value: held < value),
    "lessThanOrEquals": _ordered(lambda held, value: held <= value),
    "startsWith": lambda held, value: isinstance(held, str) and held.startswith(value),
    "listContains": lambda held, value: isinstance(held, list) and _equals(held, value),
    "stringContains": _string_contains,
}
_NUMBERS = ("greaterThan", "greaterThanOrEquals", "lessThan", "lessThanOrEquals")
_STRINGS = ("startsWith", "stringContains")


def check(filter: Mapping[str, Any]) -> None:
    """Refuses values of a type that an operator does not take, as the service does.

    Raises:
        ServiceError: a ValidationException.
    """
    [(name, item)] = filter.items()
    if name in ("andAll", "orAll"):
        for part in item:
            check(part)
        return
    value = item["value"]
    kinds = (
        (name in _NUMBERS, _number(value), "a number"),
        (name in _STRINGS, isinstance(value, str), "a string"),
        (name in ("in", "notIn"), isinstance(value, list) and len(value) > 0, "a list of values"),
        (
            name not in ("in", "notIn"),
            isinstance(value, (str, int, float, bool)),
            "a string, number or boolean",
        ),
    )
    for applies, holds, rule in kinds:
        if applies and not holds:
            raise ServiceError("ValidationException", f"The value of filter {name} must be {rule}")


def matches(filter: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
    """Return whether a document with this metadata is among those that the filter returns."""
    [(name, item)] = filter.items()
    if name == "andAll":
        return all(matches(part, metadata) for part in item)
    if name == "orAll":
        return any(matches(part, metadata) for part in item)
    stored = metadata.get(item["key"], _MISSING)
    if stored is _MISSING:
        return bool(name == "notEquals")
    return _TESTS[name](stored, item["value"])
