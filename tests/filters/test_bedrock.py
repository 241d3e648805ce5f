"""Filters for a hosted knowledge base match the same documents or are refused."""

from typing import Any

import pytest
from hypothesis import given, settings

from sleuth.errors import FilterError
from sleuth.filters import Compare, as_filter, from_bedrock, match, matches, to_bedrock, to_text
from sleuth.filters.bedrock import is_bedrock
from tests.examples import examples
from tests.filters.strategies import filters, in_order, metadata, read


def service(union: Any, row: Any) -> Any:
    """Evaluate a RetrievalFilter on the attributes of one document, as the service documents it."""
    [(name, item)] = union.items()
    if name in ("andAll", "orAll"):
        assert len(item) >= 2, "the model's minimum"
        answers = [service(part, row) for part in item]
        return all(answers) if name == "andAll" else any(answers)
    assert set(item) == {"key", "value"}
    is_there, stored_value, value = item["key"] in row, row.get(item["key"]), item["value"]
    if name == "notEquals":
        return not is_there or not service({"equals": item}, row)
    if name == "notIn":
        return is_there and not service({"in": item}, row)
    return is_there and DOCUMENTED[name](stored_value, value)


def elements(stored_value: Any) -> Any:
    return stored_value if isinstance(stored_value, list) else [stored_value]


def equal(one: Any, other: Any) -> Any:
    return one == other and match.kind(one) is match.kind(other)


DOCUMENTED = {
    "equals": lambda held, value: any(equal(one, value) for one in elements(held)),
    "in": lambda held, value: any(equal(one, other) for one in elements(held) for other in value),
    "greaterThan": in_order(lambda held, value: held > value),
    "greaterThanOrEquals": in_order(lambda held, value: held >= value),
    "lessThan": in_order(lambda held, value: held < value),
    "lessThanOrEquals": in_order(lambda held, value: held <= value),
    "startsWith": lambda held, value: isinstance(held, str) and held.startswith(value),
    "listContains": lambda held, value: isinstance(held, list) and any(equal(one, value) for one in held),
    "stringContains": lambda held, value: any(
        isinstance(one, str) and value in one for one in elements(held)
    ),
}


@settings(max_examples=examples(100))
@given(filters(), metadata(nested=False))
def test_the_services_form_is_read(tree: Any, row: Any) -> None:
    """A filter in the service's form is parsed to a tree that matches the same documents."""
    try:
        union = to_bedrock(tree)
    except FilterError:
        return
    assert is_bedrock(union)
    assert matches(as_filter(union), row) == service(union, row)


def test_not_in_of_the_service_wants_the_key() -> None:
    """The service's notIn matches only documents with the key, so it is parsed as exists and nin."""
    tree = from_bedrock({"notIn": {"key": "a", "value": ["x"]}})
    assert to_text(tree) == "a:* a!=x,"
    assert not matches(tree, {})


def part(name: str, value: object, key: str = "a") -> dict[str, object]:
    """Return a comparison in the service's form."""
    return {name: {"key": key, "value": value}}


@pytest.mark.parametrize(
    ("filter", "union"),
    [
        ({"a": {"$eq": "genealogy"}}, part("equals", "genealogy")),
        ({"a": {"$ne": 1}}, part("notEquals", 1)),
        ({"a": {"$gte": 1, "$lt": 5}}, {"andAll": [part("greaterThanOrEquals", 1), part("lessThan", 5)]}),
        ({"a": {"$in": ["x", "y"]}}, part("in", ["x", "y"])),
        ({"a": {"$nin": ["x", "y"]}}, {"andAll": [part("notEquals", "x"), part("notEquals", "y")]}),
        (
            {"$not": {"$or": [{"a": 1}, {"b": {"$ne": 2}}]}},
            {"andAll": [part("notEquals", 1), part("equals", 2, "b")]},
        ),
        ("path:docs/", part("startsWith", "docs/", "path")),
        ("a:[x]", part("listContains", "x")),
        ("a:*x*", part("stringContains", "x")),
    ],
)
def test_translations(filter: Any, union: Any) -> None:
    """Each operator is translated to its member of the union."""
    assert to_bedrock(read(filter)) == union


@pytest.mark.parametrize(
    ("filter", "what"),
    [
        ("a:*", "'exists'"), ("-a:*", "'exists'"), ("-a>1", "negation of 'gt'"),
        ("b:1 -a:x*", "negation of 'prefix'"), ("-(a:[x] OR b:1)", "negation of 'contains'"),
        ("a>=2024-01-31", "'gte' of a string"),
    ],
)  # fmt: skip
def test_what_the_service_cannot_say_is_refused(filter: Any, what: Any) -> None:
    """A filter without a translation raises an error with the operator and the key."""
    with pytest.raises(FilterError, match=what) as caught:
        to_bedrock(read(filter))
    assert caught.value.where == "a"


@pytest.mark.parametrize(
    ("union", "where"),
    [
        ({"andAll": [part("equals", 1)]}, "andAll"),
        ({"orAll": [part("equals", 1), {"equals": {"key": "a"}}]}, "orAll[1]"),
        ({"orAll": [part("equals", 1), {"a": 1}]}, "orAll[1]"),
        (part("in", []), "in"),
        (part("equals", [1]), "equals"),
    ],
)
def test_malformed_filters_of_the_service_are_refused(union: Any, where: Any) -> None:
    """A malformed filter in the service's form raises an error with the path to the place."""
    with pytest.raises(FilterError) as caught:
        as_filter(union)
    assert caught.value.where == where


def test_other_dicts_are_not_taken_for_the_services() -> None:
    """A metadata key with the name of an operator is still a key."""
    assert as_filter({"equals": "x"}) == Compare("equals", "eq", "x")
    assert as_filter({"in": {"$gt": 1}}) == Compare("in", "gt", 1)
