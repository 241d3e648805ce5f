"""Filters match rows by the truth table."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sleuth.filters.match
from sleuth.filters import Not, as_filter, matches
from sleuth.filters.match import leaves, lies_within
from sleuth.filters.tree import MAX_DEPTH, OPERATORS
from tests.filters.strategies import comparisons, filters, metadata

ROWS: dict[str, dict[str, Any]] = {
    "int": {"k": 5}, "float": {"k": 5.0}, "more": {"k": 6.5}, "string": {"k": "5"}, "word": {"k": "docs/a"},
    "true": {"k": True}, "one": {"k": 1}, "list": {"k": [5, "docs/a"]}, "empty": {"k": []},
    "null": {"k": None}, "nan": {"k": math.nan}, "missing": {}, "object": {"k": {"n": 5}},
    "objects": {"k": [{"n": 5}, {"n": "x"}]},
}  # fmt: skip
ALL = set(ROWS)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ("k:5", {"int", "float", "list"}), ('k:"5"', {"string"}), ("k:true", {"true"}), ("k:1", {"one"}),
        ("k!=5", ALL - {"int", "float", "list"}), ("k:5,true", {"int", "float", "list", "true"}),
        ("k!=5,true", ALL - {"int", "float", "list", "true"}), ("k>=5", {"int", "float", "more"}),
        ("k<6", {"int", "float", "one"}), ('k>="5"', {"string", "word"}), ("k<a", {"string"}),
        ("k:docs/", {"word"}), ('k:""*', {"string", "word"}), ("k:[5]", {"list"}),
        ("k:*cs*", {"word", "list"}), ("k:*", ALL - {"null", "missing"}), ("k!=*", {"null", "missing"}),
        ("-k>=5", ALL - {"int", "float", "more"}), ("k.n:5", {"object", "objects"}), ("k.n:[5]", {"objects"}),
        ("k.n>=5", {"object"}), ("k.n:*", {"object", "objects"}),
    ],
)  # fmt: skip
def test_truth_table(filter: Any, expected: Any) -> None:
    """Each operator matches exactly the rows of the table."""
    tree = as_filter(filter)
    assert {name for name, row in ROWS.items() if matches(tree, row)} == expected


def test_no_filter_matches_every_row() -> None:
    """None matches every row."""
    assert all(matches(None, row) for row in ROWS.values())


@given(comparisons(), metadata())
def test_not_is_the_complement(test: Any, row: Any) -> None:
    """A row matches either a comparison or its negation."""
    assert matches(test, row) != matches(Not(test), row)


def test_numbers_compare_exactly() -> None:
    """An integer that no float represents differs from the nearest float and is ordered with it."""
    big = 2**53
    assert not matches(as_filter({"k": big + 1}), {"k": float(big)})
    assert matches(as_filter({"k": {"$gt": float(big)}}), {"k": big + 1})


def test_an_integer_beyond_64_bits_counts_as_a_float() -> None:
    """An integer beyond 64 bits in a row is compared as the nearest float."""
    assert matches(as_filter({"k": 2.0**70}), {"k": 2**70 + 1})
    assert matches(as_filter({"k": {"$gt": 1e300}}), {"k": 10**400})


def test_a_key_spelled_twice_has_both_values() -> None:
    """A dotted key and the same nested key together make a list, in either order, also if one is an object."""
    assert leaves({"a.b": 1, "a": {"b": 2}}) == {"a.b": [1, 2], "a": []}
    row = {"x.a": 5, "x": {"a": {"b": 1}}}
    turned = dict(reversed(row.items()))
    assert leaves(row) == leaves(turned) == {"x": [], "x.a": [5], "x.a.b": 1}


def test_deep_metadata_is_read() -> None:
    """Objects nested deeper than the interpreter's stack are read."""
    row: dict[str, Any] = {"k": 1}
    for _ in range(3000):
        row = {"k": row}
    assert matches(as_filter({".".join(["k"] * 3001): 1}), row)


@pytest.mark.parametrize(("filter", "row", "expected"), [
    ("tenant:acme", {"tenant": "acme"}, True), ("tenant:acme", {"tenant": ["acme"]}, True),
    ("tenant:acme", {"tenant": ["acme", "globex"]}, False), ("tenant:acme", {"tenant": []}, False),
    ("tenant:acme", {"tenant": None}, False), ("tenant:acme", {"tenant": {"acme": 1}}, False),
    ("tenant:acme,beta", {"tenant": ["acme", "beta"]}, True),
    ("owner.name:acme", {"owner": [{"name": "acme"}, {"name": "globex"}]}, False),
    ("owner.name:acme", {"owner.name": "globex", "owner": {"name": "acme"}}, False),
    ("tenant:[acme]", {"tenant": ["acme", "globex"]}, False),
    ("tenant:*ac*", {"tenant": ["acme", "globex"]}, False),
    ("tenant!=globex", {"tenant": ["acme", "globex"]}, False),
    ("-(-tenant:acme)", {"tenant": ["acme", "globex"]}, False),
    ("tenant:*", {"tenant": ["acme", "globex"]}, True), ("", {}, True),
])  # fmt: skip
def test_a_row_lies_within_a_filter_by_every_value_of_its_lists(
    filter: str, row: dict[str, Any], expected: bool
) -> None:
    """A list with a value of somebody else is not within, though it matches."""
    assert lies_within(as_filter(filter), row) is expected


@given(filters(), metadata(), st.data())
def test_what_lies_within_matches_by_whichever_value(
    filter: Any, row: dict[str, Any], data: st.DataObject
) -> None:
    """A row within a filter matches it, and still does if only one value of each list is left."""
    if lies_within(filter, row):
        assert matches(filter, row)
        single = {
            key: [data.draw(st.sampled_from(value))] if isinstance(value, list) and value else value
            for key, value in leaves(row).items()
        }
        assert matches(filter, single)


GUIDE = Path(__file__).parents[2] / "docs" / "concepts" / "filters.md"


def test_it_has_the_truth_table() -> None:
    """The truth table of the guide equals the one in the code."""
    lines = [line for line in str(sleuth.filters.match.__doc__).splitlines() if line.startswith("|")]
    assert len(lines) == 13
    assert "\n".join(lines) in GUIDE.read_text("utf8")


def test_it_names_every_operator_and_the_limit() -> None:
    """The guide names each operator of dicts and the maximum depth."""
    text = GUIDE.read_text("utf8")
    assert [name for name in OPERATORS if f"`${name}`" not in text] == []
    assert f"deeper than {MAX_DEPTH}" in text
