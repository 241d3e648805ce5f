"""Filters on a label are evaluated where the label is known."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sleuth.compose import labelled
from sleuth.filters import And, Compare, Filter, Not, Or, matches
from tests.filters.strategies import comparisons, filters, metadata


def keys(tree: Filter) -> set[str]:
    if isinstance(tree, Compare):
        return {tree.key}
    if isinstance(tree, Not):
        return keys(tree.part)
    assert isinstance(tree, And | Or)
    return {key for part in tree.parts for key in keys(part)}


labels = st.sampled_from(["docs", "code"])
leaves = comparisons() | st.builds(
    Compare, st.just(labelled.KEY), st.sampled_from(["eq", "ne", "prefix"]), labels
)


@given(filters(leaves), metadata(), labels)
def test_what_is_left_means_the_same(tree: Filter, row: dict[str, Any], label: str) -> None:
    """The rest of a filter matches an unlabelled row if the whole filter matches the labelled one, and does not
    contain the label.
    """
    rest = labelled.decided(tree, {labelled.KEY: label})
    plain = {key: value for key, value in row.items() if key != labelled.KEY}
    expected = matches(tree, {**plain, labelled.KEY: label})
    assert labelled.decided(None, row) is True
    if isinstance(rest, bool):
        assert rest is expected
    else:
        assert labelled.KEY not in keys(rest)
        assert matches(rest, plain) == expected
