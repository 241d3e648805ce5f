"""Filters and rows that find out whether a backend keeps the truth table of `sleuth.filters`.

Hypothesis strategies over few keys and few values, chosen so that values of different types nearly meet: `1`,
`1.0`, `True`, `"1"`. A backend holds if, for rows from `metadata` and any filter from `filters`, it finds
exactly those rows for which `sleuth.filters.matches` is true.
"""

import math
from typing import Any

from hypothesis import strategies as st

from sleuth.filters import And, Compare, Filter, Not, Or, as_filter, match
from sleuth.filters.tree import Scalar

KEYS = ("year", "lang", "author.name", "tags", "author", "a b")
WORDS = (
    "", "a", "ab", "abc", "b", "Ab", "é", "1", "true", "docs/", "docs/a", "x y", '"', "\\", "*", "-1", "\n",
)  # fmt: skip
NUMBERS = (0, 1, 2, -1, 1.0, 1.5, -0.0, 1e300, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63))


def scalars() -> st.SearchStrategy[Scalar]:
    """Values that a filter may hold and a row may hold."""
    return st.one_of(st.sampled_from(WORDS), st.sampled_from(NUMBERS), st.booleans())


def metadata(*, nested: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Rows: missing keys, lists mixed and empty; where `nested`, null, objects, NaN and huge integers."""
    strange = st.sampled_from([None, math.nan, math.inf, 2**70, -(10**400), "\ud800"])
    plain = st.one_of(scalars(), strange) if nested else scalars()
    value = st.one_of(plain, st.lists(plain, max_size=3))
    if not nested:
        return st.dictionaries(st.sampled_from(KEYS), value, max_size=5)
    inner = st.dictionaries(st.sampled_from(("name", "first.name")), value, max_size=2)
    tree = st.one_of(value, inner, st.lists(st.one_of(plain, inner), max_size=3))
    return st.dictionaries(st.sampled_from(KEYS), tree, max_size=5)


def comparisons() -> st.SearchStrategy[Filter]:
    """Generate comparisons of one key with one value, by any operator."""
    keys, words = st.sampled_from(KEYS), st.sampled_from(WORDS)
    several = st.lists(scalars(), min_size=1, max_size=3).map(tuple)
    ordered = st.one_of(words, st.sampled_from(NUMBERS))
    return st.one_of(
        st.builds(Compare, keys, st.sampled_from(("eq", "ne", "contains")), scalars()),
        st.builds(Compare, keys, st.sampled_from(("gt", "gte", "lt", "lte")), ordered),
        st.builds(Compare, keys, st.sampled_from(("in", "nin")), several),
        st.builds(Compare, keys, st.sampled_from(("ieq", "prefix", "substring")), words),
        st.builds(Compare, keys, st.just("exists"), st.booleans()),
    )


def filters(leaves: st.SearchStrategy[Filter] | None = None) -> st.SearchStrategy[Filter]:
    """Trees of any shape over `leaves`."""

    def grow(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
        several = st.lists(parts, min_size=2, max_size=3).map(tuple)
        return st.one_of(st.builds(And, several), st.builds(Or, several), st.builds(Not, parts))

    return st.recursive(comparisons() if leaves is None else leaves, grow, max_leaves=6)


def read(value: Any) -> Filter:
    tree = as_filter(value)
    assert tree is not None
    return tree


def in_order(compare: Any) -> Any:
    def holds(stored_value: Any, value: Any) -> Any:
        assert match.kind(value) is float, "orders take numbers"
        return (
            not isinstance(stored_value, list)
            and match.kind(stored_value) is float
            and compare(stored_value, value)
        )

    return holds
