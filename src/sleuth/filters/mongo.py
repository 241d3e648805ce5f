"""Filters as dicts in Mongo's style, which Chroma, Pinecone and S3 Vectors share.

    {"year": {"$gte": 2020, "$lt": 2024}, "lang": {"$in": ["en", "de"]}, "draft": {"$ne": True}}
    {"$or": [{"author.name": "Ann"}, {"$not": {"tags": "old"}}]}

Several keys, and several operators of one key, must all be true. A bare value means `$eq`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sleuth.errors import FilterError
from sleuth.filters.tree import MAX_DEPTH, MEMBERSHIP, OPERATORS, And, Compare, Filter, Not, Operator, Or

_BY_NAME: Final[Mapping[str, Operator]] = {f"${name}": name for name in OPERATORS}
_TREES: Final = ("$and", "$or", "$not")


def from_mongo(value: Mapping[str, Any]) -> Filter:
    """Return the tree of a non-empty dict.

    Raises:
        FilterError: it is not a filter; `where` is the path to the place.
    """
    return _filter(value, "", 1)


def to_mongo(filter: Filter) -> dict[str, Any]:
    """Return the dict that `from_mongo` reads as exactly this tree; JSON can hold it."""
    if isinstance(filter, And | Or):
        return {"$and" if isinstance(filter, And) else "$or": [to_mongo(part) for part in filter.parts]}
    if isinstance(filter, Not):
        return {"$not": to_mongo(filter.part)}
    value = list(filter.value) if isinstance(filter.value, tuple) else filter.value
    return {filter.key: value if filter.operator == "eq" else {f"${filter.operator}": value}}


def _filter(value: object, where: str, level: int) -> Filter:
    if level > MAX_DEPTH:
        raise FilterError(f"filter must be nested at most {MAX_DEPTH} deep", where=_short(where))
    if not isinstance(value, Mapping) or not value:
        raise FilterError(f"filter must be a dict with at least one key, got {value!r}", where=where)
    return _joined([part for key, item in value.items() for part in _entry(key, item, where, level)])


def _entry(key: object, item: object, where: str, level: int) -> Iterator[Filter]:
    """Return what one key of a dict demands: one filter, or one per operator."""
    place = f"{where}.{key}" if where else str(key)
    if key in ("$and", "$or"):
        if not isinstance(item, list | tuple) or not item:
            raise FilterError(
                f"value of {key!r} must be a list of at least one filter, got {item!r}", where=place
            )
        below = [_filter(part, f"{place}[{index}]", level + 1) for index, part in enumerate(item)]
        yield _joined(below) if key == "$and" or len(below) == 1 else Or(tuple(below))
    elif key == "$not":
        yield Not(_filter(item, place, level + 1))
    elif isinstance(key, str) and key.startswith("$"):
        raise _unknown(key, place, "must stand under a key" if key in _BY_NAME else "")
    else:
        yield from _conditions(key, item, place, level)


def _conditions(key: Any, item: object, where: str, level: int) -> Iterator[Filter]:
    """Return what is demanded of one key: a value it equals, or operators that must all be true."""
    if level > MAX_DEPTH:
        raise FilterError(f"filter must be nested at most {MAX_DEPTH} deep", where=_short(where))
    if isinstance(item, list | tuple):
        raise FilterError(f"a list must stand under '$in', '$nin' or be one value, got {item!r}", where=where)
    if not isinstance(item, Mapping):
        yield _compare(key, "eq", item, where)
        return
    if not item:
        raise FilterError("a comparison must have at least one operator, got {}", where=where)
    for name, value in item.items():
        place = f"{where}.{name}"
        if name == "$not":
            yield Not(_joined(list(_conditions(key, value, place, level + 1))))
        elif name in _BY_NAME:
            yield _compare(key, _BY_NAME[name], value, place)
        elif isinstance(name, str) and not name.startswith("$"):
            raise FilterError(
                f"a key inside an object must be written with a dot: '{key}.{name}'", where=place
            )
        else:
            raise _unknown(name, place, "must stand before keys, not under one" if name in _TREES else "")


def _compare(key: Any, operator: Operator, value: Any, where: str) -> Compare:
    is_tuple = operator in MEMBERSHIP and isinstance(value, list | tuple)
    try:
        return Compare(key, operator, tuple(value) if is_tuple else value)
    except FilterError as error:
        raise FilterError(str(error), where=where) from None


def _joined(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _unknown(name: object, where: str, why: str) -> FilterError:
    names = ", ".join((*_BY_NAME, *_TREES))
    rule = f"{name!r} {why}" if why else f"operator must be one of {names}, got {name!r}"
    return FilterError(rule, where=where)


def _short(where: str) -> str:
    return where if len(where) < 80 else f"{where[:60]}…"
