"""The server works as an external knowledge base of Dify."""

from collections.abc import Iterator
from typing import Any

import pytest

from sleuth import Document, Engine
from sleuth.surfaces.http import add_key
from tests.surfaces.http.conftest import Local, serving


@pytest.fixture(scope="module")
def dify(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    folder = tmp_path_factory.mktemp("dify")
    metadata: list[dict[str, Any]] = [
        {"source": "a", "name": "alpha.pdf", "year": 2019, "tags": ["red", "blue"], "title": "First"},
        {"source": "b", "name": "beta.pdf", "year": 2020, "note": "", "day": "2024-01-02"},
        {"source": "c", "name": "gamma.txt", "year": 2021, "note": "kept", "day": "2025-01-02"},
    ]
    with Engine.open(folder / "docs", create=True) as engine:
        engine.add(Document(f"The word of {m['name']} is here.", m) for m in metadata)
    keys = {"dify": add_key(folder / "keys.json", "dify")}
    with serving(folder / "docs", keys=folder / "keys.json") as started:
        started.keys = keys
        yield started


def retrieve(dify: Local, **changes: Any) -> Any:
    body = {"knowledge_id": "docs", "query": "word here", "retrieval_setting": {"top_k": 5}, **changes}
    answer = dify.ask("dify", "POST", "/retrieval", body)
    assert answer.status_code == 200, answer.text
    return answer.json()["records"]


def test_records_have_the_shape_that_dify_reads(dify: Local) -> None:
    """A record has content, a score from 0 to 1, a title, and metadata, never null; without hits the list is empty."""
    records = retrieve(dify, metadata_condition=None)
    assert len(records) == 3
    for record in records:
        assert set(record) == {"content", "score", "title", "metadata"}
        assert 0 <= record["score"] <= 1
        assert record["metadata"]
    assert {record["title"] for record in records} == {"First", "b", "c"}
    assert retrieve(dify, query="") == []
    assert retrieve(dify, retrieval_setting={"top_k": 5, "score_threshold": 1.0}) == []
    assert len(retrieve(dify, retrieval_setting={"top_k": 2})) == 2


@pytest.mark.parametrize(
    ("operator", "name", "value", "expected"),
    [
        ("contains", "name", "pdf", "ab"), ("contains", "tags", "red", "a"),
        ("not contains", "name", "pdf", "c"), ("start with", "name", "be", "b"),
        ("end with", "name", ".pdf", "ab"), ("end with", "name", ".doc", ""), ("is", "name", "beta.pdf", "b"),
        ("is", "year", "2020", "b"), ("is not", "name", "beta.pdf", "ac"),
        ("in", "name", ["beta.pdf", "gamma.txt"], "bc"), ("in", "name", "beta.pdf, gamma.txt", "bc"),
        ("not in", "name", ["beta.pdf"], "ac"), ("empty", "note", None, "ab"),
        ("not empty", "note", None, "c"), ("=", "year", 2020, "b"), ("≠", "year", 2020, "ac"),
        ("!=", "year", "2020", "ac"), (">", "year", 2019, "bc"), ("<", "year", "2021", "ab"),
        ("≥", "year", 2020, "bc"), ("≤", "year", 2020, "ab"), ("before", "day", "2024-06-01", "b"),
        ("after", "day", "2024-06-01", "c"), ("is", ["name", "note"], "kept", "c"),
    ],
)  # fmt: skip
def test_each_operator_selects(dify: Local, operator: str, name: Any, value: Any, expected: str) -> None:
    """Every operator of Dify selects the right documents; a list of keys matches if one does."""
    condition = {"name": name, "comparison_operator": operator, "value": value}
    records = retrieve(dify, metadata_condition={"logical_operator": "and", "conditions": [condition]})
    assert "".join(sorted(record["metadata"]["source"] for record in records)) == expected


def test_an_address_is_checked_when_it_is_saved(dify: Local) -> None:
    """Dify asks with the key and no body: only a wrong key or address may get a status that it refuses to save."""
    assert dify.ask("dify", "POST", "/retrieval").status_code not in {403, 404, 502}
    assert dify.ask("wrong", "POST", "/retrieval").status_code == 403
    assert dify.ask("dify", "POST", "/other/retrieval").status_code == 404


def test_a_wrong_setting_is_named(dify: Local) -> None:
    """The message says which field, and what it may be."""
    body = {"knowledge_id": "docs", "query": "word"}
    for setting in ({"top_k": 0}, {"top_k": 2, "score_threshold": 7}):
        answer = dify.ask("dify", "POST", "/retrieval", {**body, "retrieval_setting": setting})
        assert (answer.status_code, answer.json()["error_code"]) == (422, 422)
        assert [*setting][-1] in answer.json()["error_msg"]


def test_conditions_are_joined(dify: Local) -> None:
    """`and` needs all conditions, `or` any."""
    conditions = [
        {"name": "year", "comparison_operator": ">", "value": 2019},
        {"name": "name", "comparison_operator": "contains", "value": "pdf"},
    ]
    for operator, expected in (("and", {"b"}), ("or", {"a", "b", "c"})):
        condition = {"logical_operator": operator, "conditions": conditions}
        records = retrieve(dify, metadata_condition=condition)
        assert {record["metadata"]["source"] for record in records} == expected


@pytest.mark.parametrize(
    ("header", "knowledge", "status", "code"),
    [
        ("", "docs", 403, 1001), ("Token x", "docs", 403, 1001), ("Bearer x", "docs", 403, 1002),
        (None, "no", 403, 2001),
    ],
)  # fmt: skip
def test_errors_have_dify_s_codes(
    dify: Local, header: str | None, knowledge: str, status: int, code: int
) -> None:
    """1001 is for a header without a bearer key, 1002 for an unknown key, 2001 for an unknown knowledge base."""
    headers = {"authorization": f"Bearer {dify.keys['dify']}"}
    sent = headers if header is None else {"authorization": header} if header else {}
    body = {"knowledge_id": knowledge, "query": "a", "retrieval_setting": {"top_k": 1, "score_threshold": 0}}
    answer = dify.client.post("/retrieval", json=body, headers=sent)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert answer.json()["error_msg"]
    headers["content-type"] = "application/json"
    broken = dify.client.post("/retrieval", content=b"{", headers=headers)
    assert (broken.status_code, broken.json()["error_code"]) == (400, 400)
