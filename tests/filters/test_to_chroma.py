"""Filters for Chroma match the same rows or are refused."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sleuth.errors import FilterError
from sleuth.filters import Compare, Filter, Not, match, matches, to_chroma, to_text
from sleuth.filters.tree import ORDERED
from tests.examples import examples
from tests.filters.strategies import KEYS, WORDS, filters, in_order, read

STORED = (0, 1, 2, -1, 1.0, 1.5, -0.0, 1e300, 2**31)
VALUES = st.one_of(st.sampled_from(WORDS), st.sampled_from(STORED), st.booleans())
LISTS = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.lists(st.sampled_from([n for n in STORED if isinstance(n, int)]), min_size=1, max_size=3),
    st.lists(st.sampled_from([n for n in STORED if isinstance(n, float)]), min_size=1, max_size=3),
    st.lists(st.booleans(), min_size=1, max_size=3),
)


def rows(lists: bool = True) -> Any:
    """Generate rows that Chroma can store: flat, with non-empty lists of one type."""
    values = st.one_of(VALUES, LISTS) if lists else VALUES
    return st.dictionaries(st.sampled_from(KEYS), values, min_size=1, max_size=4)


def chroma(where: Any, row: Any) -> Any:
    """Evaluate a `where` clause on one row, as Chroma's reference documents it."""
    assert len(where) == 1
    [(key, item)] = where.items()
    if key in ("$and", "$or"):
        assert len(item) >= 2
        answers = [chroma(part, row) for part in item]
        return all(answers) if key == "$and" else any(answers)
    assert len(item) == 1
    [(name, value)] = item.items()
    if name in ("$ne", "$nin", "$not_contains"):
        return not chroma({key: {NEGATED[name]: value}}, row)
    if name == "$in":
        assert value and len({type(one) for one in value}) == 1, "values of one type, at least one"
    return key in row and REFERENCE[name](row[key], value)


def equal(one: Any, other: Any) -> Any:
    return not isinstance(one, list) and match.kind(one) is match.kind(other) and one == other


NEGATED = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
REFERENCE = {
    "$eq": equal,
    "$in": lambda held, value: any(equal(held, one) for one in value),
    "$contains": lambda held, value: (
        isinstance(held, list) and any(one == value and type(one) is type(value) for one in held)
    ),
    "$gt": in_order(lambda held, value: held > value),
    "$gte": in_order(lambda held, value: held >= value),
    "$lt": in_order(lambda held, value: held < value),
    "$lte": in_order(lambda held, value: held <= value),
}


@settings(max_examples=examples(100))
@given(filters(), rows())
def test_the_reference_finds_the_same_rows(tree: Any, row: Any) -> None:
    """A translated filter matches a row exactly if the filter does; otherwise it is refused."""
    try:
        where = to_chroma(tree)
    except FilterError as error:
        assert error.where
        return
    assert chroma(where, row) == matches(tree, row)


@settings(max_examples=examples(100))
@given(filters(), rows(lists=False))
def test_the_plain_form_is_exact_without_lists(tree: Any, row: Any) -> None:
    """The form for older servers matches the same rows if no row has a list."""
    try:
        where = to_chroma(tree, lists=False)
    except FilterError:
        return
    assert chroma(where, row) == matches(tree, row)


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    chromadb = pytest.importorskip("chromadb", reason="the chroma extra is not installed")
    config = pytest.importorskip("chromadb.config")
    yield chromadb.EphemeralClient(config.Settings(anonymized_telemetry=False))


def test_a_real_chroma_compares_as_the_table_says(client: Any) -> None:
    """Chroma compares whole numbers, fractions, booleans, strings and lists by the truth table."""
    scalars: list[Any] = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2.0, True, False, "1", ""]
    values: list[Any] = [*scalars, [1, 2], [1.0, 1.5], ["1"], [True]]
    data = [{"k": value} for value in values] + [{"other": 1}]
    collection = client.create_collection(f"c{uuid.uuid4().hex}")
    collection.add(
        ids=[str(at) for at in range(len(data))], embeddings=[[1.0, 0.0]] * len(data), metadatas=data
    )
    numbers = [value for value in scalars if match.kind(value) is float]
    tests = [Compare("k", name, value) for name in ("eq", "ne", "contains") for value in scalars]
    tests += [Compare("k", name, value) for name in ("gt", "gte", "lt", "lte") for value in numbers]
    tests += [Compare("k", name, (value, 2)) for name in ("in", "nin") for value in scalars]
    trees: list[Filter] = [*tests, *(Not(test) for test in tests if test.operator not in ORDERED)]
    for tree in trees:
        ids = {int(one) for one in collection.get(where=to_chroma(tree))["ids"]}
        assert ids == {at for at, row in enumerate(data) if matches(tree, row)}, to_text(tree)


@pytest.mark.parametrize(
    ("filter", "where"),
    [
        ("source:x", {"source": {"$eq": "x"}}),
        ("a!=x", {"a": {"$ne": "x"}}),
        ("a:x,1,2", {"$or": [{"a": {"$in": ["x"]}}, {"a": {"$in": [1, 2]}}]}),
        ("a>1 b:2", {"$and": [{"a": {"$gt": 1}}, {"b": {"$eq": 2}}]}),
        ("-(a:1 b:2)", {"$or": [{"a": {"$ne": 1}}, {"b": {"$ne": 2}}]}),
    ],
)
def test_the_plain_form(filter: Any, where: Any) -> None:
    """The plain form has one operator per comparison, two members per conjunction, one type per list of values."""
    assert to_chroma(read(filter), lists=False) == where


def test_equality_looks_into_lists() -> None:
    """Equality is tested on scalars and lists, and on both kinds of numbers."""
    assert to_chroma(read("tags:x")) == {"$or": [{"tags": {"$eq": "x"}}, {"tags": {"$contains": "x"}}]}
    assert to_chroma(read("-tags:[1]")) == {
        "$and": [{"tags": {"$not_contains": 1}}, {"tags": {"$not_contains": 1.0}}]
    }


@pytest.mark.parametrize(
    ("filter", "what"),
    [
        ("a:*", "'exists'"), ("-a>1", "negation of 'gt'"), ("a:x*", "'prefix'"),
        ("-a:x*", "negation of 'prefix'"), ("a:*x*", "'substring'"), ("a>x", "'gt' of a string"),
    ],
)  # fmt: skip
def test_what_chroma_cannot_say_is_refused(filter: Any, what: Any) -> None:
    """A filter without a translation raises an error with the operator and the key."""
    with pytest.raises(FilterError, match=what) as caught:
        to_chroma(read(filter))
    assert caught.value.where == "a"


def test_lists_are_refused_in_the_plain_form() -> None:
    """An older server has no "contains", so the operator is refused."""
    with pytest.raises(FilterError, match="'contains'"):
        to_chroma(read("tags:[x]"), lists=False)
