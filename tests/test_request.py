"""Requests are read from plain values."""

import pytest

from sleuth.engine import SearchRequest
from sleuth.errors import ArgumentError
from sleuth.types.request import _adapter


def test_values_that_need_no_conversion_are_read_without_pydantic() -> None:
    """A query, a count and switches make a request as they are; texts are converted."""
    _adapter.cache_clear()
    expected = SearchRequest(query="port", k=3, explain=True)
    assert SearchRequest.read({"query": "port", "k": 3, "explain": True, "filter": None}) == expected
    assert _adapter.cache_info().currsize == 0
    assert SearchRequest.read({"query": "port", "k": "3", "explain": "true"}) == expected
    assert _adapter.cache_info().currsize == 1


@pytest.mark.parametrize("values", [{"explain": 2}, {"sources": True}, {"filter": False}, {"k": -1}])
def test_wrong_values_are_refused(values: dict[str, object]) -> None:
    """A switch that stands where another value belongs is refused, too."""
    with pytest.raises(ArgumentError):
        SearchRequest.read({"query": "port", **values})
