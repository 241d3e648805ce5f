"""Local documents and web pages are merged and fused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sleuth.web import fuse, merge

WEB: dict[str, Any] = {
    "num_docs": 2,
    "api_k": 2,
    "results": [{"id": 0, "content": "w0", "url": "u0"}, {"id": 1, "content": "w1"}],
}
IDS = st.one_of(st.integers(-3, 9), st.sampled_from(["0", "1", "5", "a", "10"]))


def test_ids_go_on() -> None:
    """Local ids stay, and web ids continue after the largest, which tables may have changed from 1 to 1.0."""
    local = [{"id": 7, "content": "a", "score": 0.9}, {"id": 2, "content": "b", "score": 0.1}]
    documents = merge(local, WEB["results"])
    assert [document["id"] for document in documents] == [7, 2, 8, 9]
    assert [document["content"] for document in documents] == ["a", "b", "w0", "w1"]
    assert merge(local, WEB) == documents
    assert [document["id"] for document in merge([], WEB)] == [0, 1]
    entry = {"id": "query_0", "query": "x", "web_docs": WEB}
    assert [document["id"] for document in merge([{"id": 1.0, "content": "a"}], entry)] == [1, 2, 3]
    assert merge(local, []) == local


@given(st.lists(IDS, unique_by=str, max_size=6), st.integers(0, 6))
def test_no_two_ids_collide(ids: list[Any], pages: int) -> None:
    """For any local ids, no two ids of the result are equal, not even as text; the input is unchanged."""
    local = [{"id": one, "content": str(one)} for one in ids]
    web = [{"id": number, "content": f"w{number}"} for number in range(pages)]
    documents = merge(local, web)
    assert len({str(document["id"]) for document in documents}) == len(ids) + pages
    assert [document["id"] for document in documents[: len(ids)]] == ids
    assert [document["id"] for document in web] == list(range(pages))


def test_fused_by_rank() -> None:
    """Both lists alternate at equal weights, local first; weights change the order; k cuts."""
    local = [{"id": number, "content": f"l{number}", "score": 0.5} for number in range(3)]
    assert [document["content"] for document in fuse(local, WEB)] == ["l0", "w0", "l1", "w1", "l2"]
    assert [document["content"] for document in fuse(local, WEB, 3, weights={"web": 0.1})] == [
        "l0",
        "l1",
        "l2",
    ]
    assert fuse(local, WEB, 1)[0] == {"id": 0, "content": "l0", "score": pytest.approx(1 / 61)}
    assert fuse([], []) == []
