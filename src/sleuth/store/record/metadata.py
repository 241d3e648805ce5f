"""Metadata as JSON, encoded once for the record, and its form in a hit."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.filters.values import plain_scalar
from sleuth.store.record.layout import check_text, from_json

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True)
_SCALARS = frozenset({str, int, float, bool, type(None)})
_MOST_DEPTH = 500
"""Levels of values in values, in each version of Python: JSON of 3.11 fails at a thousand less the calls around it."""
_DEPTH_RULE = f"must be nested at most {_MOST_DEPTH} levels deep"


class Json(NamedTuple):
    """A mapping and its JSON.

    Attributes:
        values: as it is read back: lists for tuples, strings for keys.
        text: compact.
    """

    values: Mapping[str, Any]
    text: str


def encode_values(
    metadata: Mapping[str, Any], encode: Callable[[Any], str] = _ENCODER.encode
) -> dict[str, str]:
    """Return the JSON of each value; keys of objects inside of values are sorted.

    Args:
        encode: makes the JSON of values that are neither texts nor whole numbers.

    Raises:
        TypeError, ValueError, RecursionError: JSON cannot hold a value.
    """
    return {
        name: encode_basestring(value)
        if type(value) is str
        else str(value)
        if type(value) is int
        else encode(value)
        for name, value in metadata.items()
    }


def plain_values(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata with dates, decimals and the like, at any depth, as `plain_scalar` gives them."""
    return {name: plain_value(value) for name, value in metadata.items()}


def plain_value(value: Any) -> Any:
    """Return a value of metadata as `plain_values` does."""
    if isinstance(value, Mapping):
        return plain_values(value)
    return [plain_value(item) for item in value] if isinstance(value, list | tuple) else plain_scalar(value)


def fit_values(metadata: Mapping[str, Any], argument: str) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Return metadata as the index keeps it, and the JSON of each value. JSON values are kept as they are.

    Raises:
        ArgumentError: the index cannot keep a value; names its key.
    """
    try:
        return metadata, encode_values(metadata)
    except (TypeError, ValueError, RecursionError):
        pass  # the rule, with no cost for JSON values, is below
    plain: dict[str, Any] = {}
    parts: dict[str, str] = {}
    for name, value in metadata.items():
        try:
            plain[name] = plain_value(value)
            parts |= encode_values({name: plain[name]})
        except RecursionError as error:
            raise ArgumentError(f"{argument} {_DEPTH_RULE}") from error
        except (TypeError, ValueError) as error:
            text = repr(value)
            short = text if len(text) <= 80 else f"{text[:77]}..."
            raise ArgumentError(
                f"{argument}[{name!r}] must be a JSON value, a date, a Decimal, a UUID or a path, got {short} ({error})"
            ) from error
    return plain, parts


def joined(parts: Mapping[str, str], left_out: Container[str] = ()) -> str:
    """Return the JSON object of a result of `encode_values`."""
    members = [f"{encode_basestring(name)}:{part}" for name, part in parts.items() if name not in left_out]
    return f"{{{','.join(members)}}}"


def read_back(metadata: Mapping[str, Any], text: str, argument: str) -> Json:
    """Return metadata whose JSON is `text`.

    Raises:
        ArgumentError: it is nested too deeply.
    """
    if _SCALARS.issuperset(map(type, metadata.values())):
        return Json(metadata, text)
    if text.count("{") + text.count("[") > _MOST_DEPTH and _is_deep(metadata):
        raise ArgumentError(f"{argument} {_DEPTH_RULE}")
    return Json(from_json(text), text)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_MOST_DEPTH):
        containers = [part for part in level if isinstance(part, Mapping | list | tuple)]
        level = [
            item for part in containers for item in (part.values() if isinstance(part, Mapping) else part)
        ]
    return bool(level)


def stored_json(text: str | None) -> Json | None:
    """Return what the record holds of metadata."""
    return Json(from_json(text), text) if text else None


def as_json(metadata: Mapping[str, Any], argument: str) -> Json | None:
    """Return metadata with its JSON; None for an empty mapping, which then takes no space.

    Raises:
        ArgumentError: JSON cannot hold it, or UTF-8 cannot.
    """
    if not metadata:
        return None
    if all(type(name) is type(value) is str for name, value in metadata.items()):
        text = joined({name: encode_basestring(value) for name, value in metadata.items()})
        return Json({**metadata}, check_text(text, argument))
    value_by_name = {_name(name): value for name, value in metadata.items()}
    plain, values = fit_values(value_by_name, argument)
    return read_back(plain, check_text(joined(values), argument), argument)


def check_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return these values as the index keeps them.

    Raises:
        ArgumentError: it cannot; says why.
    """
    if names := [name for name in metadata if not isinstance(name, str)]:
        raise ArgumentError(f"metadata must have names that are strings, got {names[0]!r}")
    json = as_json(metadata, "metadata")
    return {} if json is None else json.values


def _name(name: Any) -> str:
    """Return the name under which JSON keeps a value: numbers, booleans and null become texts."""
    if isinstance(name, str):
        return name
    text = _ENCODER.encode({name: 0})
    decoded: str = json.loads(text.rpartition(":")[0].removeprefix("{"))
    return decoded
