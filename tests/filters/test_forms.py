"""Filters are parsed from dicts and text, and printed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.errors import FilterError
from sleuth.filters import And, Compare, Not, Or, as_filter, field, to_mongo, to_text
from sleuth.filters.mongo import from_mongo
from sleuth.filters.text import from_text
from sleuth.filters.tree import MAX_DEPTH
from tests.filters.strategies import filters

ANY_KEY = st.text(min_size=1, max_size=6).filter(lambda key: not key.startswith("$"))
ANY_VALUE = st.one_of(
    st.text(max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
ANY_COMPARISON = st.one_of(
    st.builds(Compare, ANY_KEY, st.sampled_from(("eq", "ne", "contains")), ANY_VALUE),
    st.builds(
        Compare,
        ANY_KEY,
        st.sampled_from(("in", "nin")),
        st.lists(ANY_VALUE, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Compare, ANY_KEY, st.sampled_from(("ieq", "prefix", "substring")), st.text(max_size=8)),
    st.builds(Compare, ANY_KEY, st.sampled_from(("gt", "lte")), st.text(max_size=8)),
    st.builds(Compare, ANY_KEY, st.just("exists"), st.booleans()),
)


@given(st.one_of(filters(), filters(ANY_COMPARISON)))
def test_text_round_trips(tree: Any) -> None:
    """The printed text is parsed to the same tree, with the same types of values."""
    text = to_text(tree)
    assert from_text(text) == tree == as_filter(text)
    assert repr(from_text(text)) == repr(tree)


@given(st.one_of(filters(), filters(ANY_COMPARISON)))
def test_dicts_round_trip(tree: Any) -> None:
    """The printed dict is parsed to the same tree, also through JSON."""
    value = to_mongo(tree)
    assert from_mongo(value) == tree == as_filter(value)
    assert repr(as_filter(json.dumps(value))) == repr(tree)


@pytest.mark.parametrize("value", [None, {}, "", "  \n"])
def test_nothing_is_no_filter(value: Any) -> None:
    """None, an empty dict and a blank text mean no filter."""
    assert as_filter(value) is None


@pytest.mark.parametrize(
    ("value", "tree"),
    [
        ({"topic": "x"}, field("topic") == "x"),
        ({"topic": {"$eq": "x"}}, field("topic") == "x"),
        ({"y": {"$gte": 1, "$lt": 5}, "b": 2}, (field("y") >= 1) & (field("y") < 5) & (field("b") == 2)),
        ({"$or": [{"a": 1}, {"b": 2}]}, (field("a") == 1) | (field("b") == 2)),
        ({"$and": [{"a": 1}]}, field("a") == 1),
        ({"$or": [{"a": 1}], "b": 2}, (field("a") == 1) & (field("b") == 2)),
        ({"$not": {"a": 1, "b": 2}}, ~((field("a") == 1) & (field("b") == 2))),
        ({"a": {"$not": {"$gt": 1, "$lt": 5}}}, ~((field("a") > 1) & (field("a") < 5))),
        ({"a": {"$not": 1}}, ~(field("a") == 1)),
        ({"a.b": {"$exists": False}}, field("a.b").exists(False)),
        ({"lang": {"$nin": ["en", "de"]}}, field("lang").not_in(["en", "de"])),
        ({"equals": {"key": "a", "value": 1}}, field("a") == 1),
        ('{"a": {"$in": [1, "x"]}}', field("a").is_in([1, "x"])),
    ],
)
def test_dicts_are_read(value: Any, tree: Any) -> None:
    """Keys and operators side by side must all match; a plain value means equality."""
    assert as_filter(value) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("year>=2020", field("year") >= 2020),
        ("year:>=2020", field("year") >= 2020),
        ("year=2020", field("year") == 2020),
        ("lang:en,de", field("lang").is_in(["en", "de"])),
        ("lang:en,", field("lang").is_in(["en"])),
        ("lang!=en,de", field("lang").not_in(["en", "de"])),
        ("-draft:true", ~(field("draft") == True)),  # noqa: E712
        ("NOT draft:true", ~(field("draft") == True)),  # noqa: E712
        ("path:docs/", field("path").starts_with("docs/")),
        ("path:docs*", field("path").starts_with("docs")),
        ('path:"docs/"', field("path") == "docs/"),
        ("title:*abc*", field("title").has_substring("abc")),
        ("tags:[x]", field("tags").contains("x")),
        ("k:*", field("k").exists()),
        ("k!=*", field("k").exists(False)),
        ('title:"a b"', field("title") == "a b"),
        ('"my key":1.5', field("my key") == 1.5),
        ("t:-5", field("t") == -5),
        ("t:1e3", field("t") == 1000.0),
        ("t:007", field("t") == "007"),
        ("date>=2024-01-31", field("date") >= "2024-01-31"),
        ("when:12:30", field("when") == "12:30"),
        ("OR:5 AND:6", (field("OR") == 5) & (field("AND") == 6)),
        ("a:1 AND b:2", (field("a") == 1) & (field("b") == 2)),
        ("a:1 b:2 OR c:3", Or(((field("a") == 1) & (field("b") == 2), field("c") == 3))),
        ("a:1 (b:2 OR c:3)", And((field("a") == 1, (field("b") == 2) | (field("c") == 3)))),
        ("( a:1 )", field("a") == 1),
        ("--a:1", Not(Not(field("a") == 1))),
        ("-(a:1 b:2)", ~((field("a") == 1) & (field("b") == 2))),
    ],
)
def test_text_is_read(text: Any, tree: Any) -> None:
    """Each line of the grammar is parsed to its tree."""
    assert as_filter(text) == tree
    assert repr(as_filter(text)) == repr(tree)


@pytest.mark.parametrize(("value", "where", "what"), [
    ({"a": {"$foo": 1}}, "a.$foo", "operator must be one of"),
    ({"$gt": 5}, "$gt", "must stand under a key"),
    ({"a": {"$or": [1]}}, "a.$or", "must stand before keys"),
    ({"a": {"$in": []}}, "a.$in", "at least one value"), ({"a": {"$in": "xy"}}, "a.$in", "must be a list"),
    ({"a": {"$gt": [1]}}, "a.$gt", "must be a string, a number"),
    ({"$or": [{"b": 1}, {"a": float("nan")}]}, "$or[1].a", "finite"), ({"a": None}, "a", "'exists'"),
    ({"a": [1, 2]}, "a", r"\$in"), ({"a": {"b": 1}}, "a.b", "dot: 'a.b'"),
    ({"a": {}}, "a", "at least one operator"), ({"$and": []}, "$and", "at least one filter"),
    ({"$and": {"a": 1}}, "$and", "must be a list"), ({"$or": [{}]}, "$or[0]", "at least one key"),
    ({"a": {"$exists": 1}}, "a.$exists", "True or False"), ({1: 1}, "1", "key must be"),
    ('{"a": 1, "a": 2}', "", "'a' twice"), ('{"a": }', "column 7", "must be JSON"),
    ('  {"a": 1,\n "b": }', "column 18", "must be JSON"),
    ("year", "column 1", "must be written as key:value"),
    ("a:1 year", "column 5", "must be written as key:value"), ("a:1 b:", "column 7", "a value must be"),
    ('a:1 b:"x', "column 7", "must be closed"), (r'a:"\x"', "column 3", "escapes"),
    ("(a:1", "column 1", "must be closed"), ("a:1)", "column 4", "must end here"),
    ("a:1 OR", "column 7", "must be written"), ("a:*b", "column 5", "both sides"),
    ("a:[b", "column 5", "closed"), ("a:x*,y", "column 3", "must stand alone"),
    ("b:1 a>true", "column 5", "must be a number or a string"),
    ("a:1e999", "column 1", r"finite number, got inf \("),
    ("a:99999999999999999999", "column 1", "64 bits"), (3, "", "a dict, a text or None"),
])  # fmt: skip
def test_errors_point_at_the_place(value: Any, where: Any, what: Any) -> None:
    """An error says what is wrong, and where by path or column."""
    with pytest.raises(FilterError, match=what) as caught:
        as_filter(value)
    assert caught.value.where == where


def deep_dict(levels: Any, operator: str = "$not") -> Any:
    value: dict[str, Any] = {"a": 1}
    for _ in range(levels):
        value = {operator: value if operator == "$not" else [value, {"b": 1}]}
    return value


@pytest.mark.parametrize("levels", [MAX_DEPTH, 200, 100_000])
def test_depth_is_limited_in_every_form(levels: Any) -> None:
    """Nesting beyond the limit raises an error at any depth, without a stack overflow."""
    for value in (
        deep_dict(levels),
        deep_dict(levels, "$or"),
        "-" * levels + "a:1",
        "(" * levels + "a:1" + ")" * levels,
        '{"$not": ' * levels + '{"a": 1}' + "}" * levels,
    ):
        with pytest.raises(FilterError, match="nested"):
            as_filter(value)


def test_depth_up_to_the_limit_is_read() -> None:
    """A filter with the maximum depth is parsed from every form."""
    for operator in ("$not", "$or"):
        tree = from_mongo(deep_dict(MAX_DEPTH - 1, operator))
        assert as_filter(to_text(tree)) == tree


@given(st.text(max_size=40) | st.text(alphabet='ab:,*"()[]{}-<>=! \\/1.OR\n', max_size=30))
def test_any_text_is_read_or_refused(text: Any) -> None:
    """Any text, and any of the grammar's characters, is parsed to a filter or raises a FilterError."""
    try:
        tree = as_filter(text)
    except FilterError:
        return
    assert tree is None or as_filter(to_text(tree)) == tree


@pytest.mark.parametrize("key", ["NOT-x", "OR-x", "AND-x", "OR-", "NOT-", "ORx", "-OR-x"])
def test_keys_that_begin_like_a_keyword_round_trip(key: str) -> None:
    """Keys that begin with a keyword are printed in quotes."""
    test = Compare(key, "eq", 5)
    for tree in (test, Not(test), And((Compare("a", "eq", 1), test)), Or((Compare("a", "eq", 1), test))):
        assert from_text(to_text(tree)) == tree


@pytest.mark.parametrize(
    "text", ["year:" + "1" * 5000, "year:-" + "1" * 5000, '{"year": ' + "1" * 5000 + "}"]
)
def test_integers_that_python_would_not_read_are_refused(text: str) -> None:
    """An integer of thousands of digits raises an error that does not print it."""
    with pytest.raises(FilterError, match=r"at most 64 bits, got one of 5,00\d digits"):
        as_filter(text)
