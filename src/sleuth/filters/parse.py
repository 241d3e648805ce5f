"""The argument `filter=` of every call: a tree, a dict, a text, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sleuth.errors import FilterError
from sleuth.filters.bedrock import from_bedrock, is_bedrock
from sleuth.filters.mongo import from_mongo
from sleuth.filters.text import from_text, integer
from sleuth.filters.tree import And, Compare, Filter, FilterForm, Not, Or, check_depth


def as_filter(value: FilterForm) -> Filter | None:
    """Return the tree of any form of filter that an API call takes.

    Args:
        value: a tree; a dict in Mongo's style or in Bedrock's form; a text in the compact form, or JSON where
            it begins with "{"; None, an empty dict or a blank text for no filter.

    Raises:
        FilterError: it cannot be read; `where` is the path or the column of the place.
    """
    if value is None:
        return None
    if isinstance(value, And | Or | Not | Compare):
        tree: Filter = value
    elif isinstance(value, str):
        text = value.strip()
        if text.startswith("{"):
            return as_filter(_json(text, value.index("{")))
        if not text:
            return None
        tree = from_text(value)
    elif isinstance(value, Mapping):
        if not value:
            return None
        tree = from_bedrock(value) if is_bedrock(value) else from_mongo(value)
    else:
        raise FilterError(f"filter must be a filter, a dict, a text or None, got {value!r}")
    check_depth(tree)
    return tree


def _json(text: str, start: int) -> Any:
    """Parse the JSON that begins after this many blanks."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=integer)
    except json.JSONDecodeError as error:
        raise FilterError(
            f"filter must be JSON where it begins with '{{': {error.msg}",
            where=f"column {start + error.pos + 1}",
        ) from None
    except RecursionError:
        raise FilterError("filter must be nested less deep") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; refuse a repeated key, since one of the two values would be lost."""
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FilterError(f"a key must stand once in an object (join two with '$and'), got {twice!r} twice")
    return values
