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


WRONG = {"explain": 2, "sources": True, "filter": False, "k": -1, "expand": "0"}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_refused(name: str) -> None:
    """A switch that stands where another value belongs is refused, too; the error names the option as it is."""
    with pytest.raises(ArgumentError, match=f"^{name} must be"):
        SearchRequest.read({"query": "port", name: WRONG[name]})
