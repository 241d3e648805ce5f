"""Filters in the form of Bedrock's `RetrievalFilter`, both ways.

Source: the `RetrievalFilter` shape of botocore's bedrock-agent-runtime model. The service has no "exists" and
no "not": a negation is moved inwards by De Morgan's laws. A condition without an equivalent of the same truth table is
refused, since a filter with another meaning would leak rows or lose them:

- "exists", and the negation of an order, a prefix, "contains" or "substring", which holds where the key is
  missing;
- an order of strings: the service orders numbers.

"nin" becomes one `notEquals` per value: that is documented to hold where the key is missing, and `notIn` is
not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sleuth.errors import FilterError
from sleuth.filters.text import negation_refused, to_text
from sleuth.filters.tree import MAX_DEPTH, ORDERED, And, Compare, Filter, Operator, Or, negations_inward

_SERVICE: Final[Mapping[Operator, str]] = {
    "eq": "equals",
    "ne": "notEquals",
    "gt": "greaterThan",
    "gte": "greaterThanOrEquals",
    "lt": "lessThan",
    "lte": "lessThanOrEquals",
    "in": "in",
    "prefix": "startsWith",
    "contains": "listContains",
    "substring": "stringContains",
}
_OURS: Final = {theirs: ours for ours, theirs in _SERVICE.items()}


def is_bedrock(value: Mapping[str, Any]) -> bool:
    """Return whether a dict is in the service's own form: one member of its union, in the service's shape."""
    if len(value) != 1:
        return False
    [(name, item)] = value.items()
    if name in ("andAll", "orAll"):
        return isinstance(item, list | tuple)
    return (name in _OURS or name == "notIn") and isinstance(item, Mapping) and set(item) == {"key", "value"}


def to_bedrock(filter: Filter) -> dict[str, Any]:
    """Translate a filter into the service's form, true for exactly the same documents.

    Raises:
        FilterError: the service cannot say this; the message names the operator.
    """
    return _union(negations_inward(filter))


def _union(filter: Filter) -> dict[str, Any]:
    if isinstance(filter, And | Or):
        return {"andAll" if isinstance(filter, And) else "orAll": [_union(part) for part in filter.parts]}
    if isinstance(filter, Compare):
        return _attribute(filter)
    test = filter.part
    assert isinstance(test, Compare)  # noqa: S101  # negations_inward leaves no other
    raise _refused(test, negation_refused(test))


def _attribute(test: Compare) -> dict[str, Any]:
    name, value = test.operator, test.value
    if name == "nin" and isinstance(value, tuple):
        parts = [_attribute(Compare(test.key, "ne", one)) for one in value]
        return parts[0] if len(parts) == 1 else {"andAll": parts}
    if name not in _SERVICE:
        raise _refused(test, repr(name))
    if name in ORDERED and isinstance(value, str):
        raise _refused(test, f"{name!r} of a string")
    return {_SERVICE[name]: {"key": test.key, "value": list(value) if isinstance(value, tuple) else value}}


def _refused(test: Compare, what: str) -> FilterError:
    names = ", ".join((*_SERVICE, "nin"))
    rule = f"operator must be one that a Bedrock knowledge base has ({names})"
    return FilterError(f"{rule}, got {what}: {to_text(test)}", where=test.key)


def from_bedrock(value: Mapping[str, Any]) -> Filter:
    """Translate the service's form into a tree, true for exactly the same documents.

    Raises:
        FilterError: it is not one; `where` is the path to the place.
    """
    return _filter(value, "", 1)


def _filter(value: object, where: str, level: int) -> Filter:
    if level > MAX_DEPTH:
        raise FilterError(f"filter must be nested at most {MAX_DEPTH} deep", where=f"{where[:60]}…")
    if not isinstance(value, Mapping) or not is_bedrock(value):
        names = ", ".join(("andAll", "orAll", *_OURS, "notIn"))
        raise FilterError(
            f"filter must have one key of {names}, shaped as Bedrock has it, got {value!r}", where=where
        )
    [(name, item)] = value.items()
    place = f"{where}.{name}" if where else name
    if name not in ("andAll", "orAll"):
        return _comparison(name, item, place)
    if len(item) < 2:
        raise FilterError(f"{name} must have at least two members, got {len(item)}", where=place)
    parts = tuple(_filter(part, f"{place}[{index}]", level + 1) for index, part in enumerate(item))
    return And(parts) if name == "andAll" else Or(parts)


def _comparison(name: str, item: Mapping[str, Any], where: str) -> Filter:
    key, value = item["key"], item["value"]
    value = tuple(value) if isinstance(value, list | tuple) else value
    if _OURS.get(name) in ORDERED and isinstance(value, str):
        raise FilterError(f"value of {name!r} must be a number, got {value!r}", where=where)
    try:
        if name == "notIn":
            return And((Compare(key, "exists", True), Compare(key, "nin", value)))
        return Compare(key, _OURS[name], value)
    except FilterError as error:
        raise FilterError(str(error), where=where) from None
