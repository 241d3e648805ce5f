"""Filter trees: what can be built, and what raises an error."""

import enum
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from sleuth.errors import FilterError
from sleuth.filters import And, Compare, Filter, Not, Or, all_of, any_of, as_filter, field, matches, to_text
from sleuth.filters.tree import MAX_DEPTH, negations_inward
from tests.filters.strategies import filters, metadata


def test_builder_writes_the_tree() -> None:
    """Comparisons of a field and Python's operators build the same tree as the classes."""
    tree = (field("year") >= 2020) & field("lang").is_in(["en", "de"]) & ~(field("draft") == True)  # noqa: E712
    assert tree == And(
        (Compare("year", "gte", 2020), Compare("lang", "in", ("en", "de")), Not(Compare("draft", "eq", True)))
    )


def test_every_builder_method_has_its_operator() -> None:
    """Each method of a field builds one operator."""
    key = field("k")
    trees = {
        "eq": key == 1, "ieq": key.equals_in_any_case("a"), "ne": key != 1, "gt": key > 1, "gte": key >= 1,
        "lt": key < 1, "lte": key <= 1, "in": key.is_in([1]), "nin": key.not_in([1]), "exists": key.exists(),
        "prefix": key.starts_with("a"), "contains": key.contains("a"), "substring": key.has_substring("a"),
    }  # fmt: skip
    assert {name: test.operator for name, test in trees.items()} == {name: name for name in trees}


def test_joining_flattens() -> None:
    """`a & b & c` is one And of three, `a | b | c` one Or."""
    a, b, c = (field(name) == 1 for name in "abc")
    assert (a & b) & c == a & (b & c) == And((a, b, c))
    assert a | b | c == Or((a, b, c))


def test_all_of_takes_any_number() -> None:
    """A conjunction of any number of filters keeps each of them; none gives no filter."""
    a, b = field("a") == 1, field("b") == 2
    assert all_of() is None
    assert all_of(None, a, None) is a
    assert all_of(a, None, b) == And((a, b))
    assert any_of(a) is a


def test_types_of_values_count_for_equality() -> None:
    """True, 1 and 1.0 make three different comparisons, so that a cache cannot confuse them."""
    tests = {Compare("k", "eq", True), Compare("k", "eq", 1), Compare("k", "eq", 1.0)}
    assert len(tests) == 3
    assert Compare("k", "in", (1,)) != Compare("k", "in", (True,))


@pytest.mark.parametrize(
    ("key", "operator", "value"),
    [
        ("", "eq", 1), ("$and", "eq", 1), (3, "eq", 1), ("k", "like", 1), ("k", "eq", None),
        ("k", "eq", math.nan), ("k", "eq", math.inf), ("k", "eq", 2**64), ("k", "eq", (1,)),
        ("k", "gt", True), ("k", "gt", [1]), ("k", "in", ()), ("k", "in", "abc"), ("k", "in", (None,)),
        ("k", "exists", 1), ("k", "prefix", 1), ("k", "substring", True), ("k", "contains", [1]),
    ],
)  # fmt: skip
def test_what_cannot_be_a_comparison_cannot_be_built(key: Any, operator: Any, value: Any) -> None:
    """An invalid key, operator or value raises an error when the comparison is built."""
    with pytest.raises(FilterError, match="must be"):
        Compare(key, operator, value)


@pytest.mark.parametrize("parts", [(), (Compare("k", "eq", 1),), [Compare("k", "eq", 1)] * 2, ("k:1", "k:2")])
def test_conjunctions_have_two_filters(parts: Any) -> None:
    """And and Or of fewer than two filters, or of other objects, raise an error."""
    with pytest.raises(FilterError):
        And(parts)
    with pytest.raises(FilterError):
        Or(parts)


def test_depth_is_limited() -> None:
    """A tree nested deeper than the limit raises an error at any depth, without a stack overflow."""
    tree: Filter = field("k") == 1
    for _ in range(MAX_DEPTH - 1):
        tree = Not(tree)
    assert as_filter(tree) is tree
    for _ in range(50_000):
        tree = Not(tree)
    with pytest.raises(FilterError, match="nested at most"):
        as_filter(tree)


@given(filters(), metadata())
def test_moving_negations_inward_changes_no_answer(tree: Any, row: Any) -> None:
    """De Morgan's laws hold, and leave Not only over comparisons without an opposite."""
    inward = negations_inward(tree)
    assert matches(inward, row) == matches(tree, row)
    pending = [inward]
    while pending:
        node = pending.pop()
        if isinstance(node, Not):
            assert isinstance(node.part, Compare)
            assert node.part.operator not in ("eq", "ne", "in", "nin", "exists")
        elif not isinstance(node, Compare):
            pending += node.parts


class Level(enum.IntEnum):
    LOW = 1


class Language(enum.StrEnum):
    ENGLISH = "en"


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


@pytest.mark.parametrize(
    ("value", "plain"),
    [(Level.LOW, 1), (Language.ENGLISH, "en"), (np.float64(2.5), 2.5), (np.str_("a"), "a"), (Text("a"), "a")],
)
def test_subclasses_of_scalars_are_kept_as_plain_ones(value: Any, plain: Any) -> None:
    """Enum members and numpy floats build the same tree as plain values, and print as them."""
    tree = Compare("k", "eq", value)
    assert tree == Compare("k", "eq", plain)
    assert field("k").is_in([value]) == field("k").is_in([plain])
    assert type(tree.value) is type(plain)
    assert as_filter(to_text(tree)) == tree
    assert matches(tree, {"k": value})
    assert matches(tree, {"k": plain})


@pytest.mark.parametrize(
    "value",
    [
        np.float64("nan"), np.datetime64("NaT", "s"), np.timedelta64(3, "D"), np.complex64(1), np.array([1]),
        Decimal("NaN"), b"x",
    ],
)  # fmt: skip
def test_other_values_of_numpy_are_refused(value: Any) -> None:
    """Other values of numpy raise an error, since metadata has no such type."""
    with pytest.raises(FilterError, match="must be a"):
        field("k").is_in([value])


@pytest.mark.parametrize("expression", [
    lambda: 1 < field("year") < 5, lambda: field("year") == 1 and field("lang") == "en",
    lambda: field("year") == 1 or field("lang") == "en", lambda: not field("year").exists(),
    lambda: bool(~(field("year") == 1)), lambda: bool((field("a") == 1) & (field("b") == 1)),
    lambda: bool((field("a") == 1) | (field("b") == 1)),
])  # fmt: skip
def test_what_would_lose_a_part_is_refused(expression: Any) -> None:
    """Python's "and", "or", "not" and chained comparisons raise an error, since they would drop a filter."""
    with pytest.raises(FilterError, match=r"joined with '&' and '\|'"):
        expression()


@pytest.mark.parametrize("method", ["is_in", "not_in"])
@pytest.mark.parametrize("values", ["en", b"en", 5])
def test_a_string_is_no_list_of_values(method: str, values: object) -> None:
    """A string instead of a list of values raises an error."""
    with pytest.raises(FilterError, match=r"values must be a list, got .*: write \["):
        getattr(field("lang"), method)(values)


@pytest.mark.parametrize("value", [10**5000, -(10**5000), 2**63], ids=["large", "small", "65 bits"])
def test_integers_beyond_64_bits_are_refused(value: int) -> None:
    """Integers beyond 64 bits raise an error, including those that Python does not print."""
    with pytest.raises(FilterError, match="at most 64 bits, got"):
        as_filter({"year": value})
