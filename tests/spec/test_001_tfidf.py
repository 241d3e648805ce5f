"""Document 001, local retrieval: its own example, with only the import changed."""

from typing import Any

from sleuth.lexical import retrieve_local_docs

EVIDENCE: list[dict[str, Any]] = [
    {"id": 0, "content": "Climate change policy is debated in parliament.", "source_type": "evidence"},
    {"id": 1, "content": "Cats sleep most of the day."},
    {"id": 2, "content": "A policy on carbon prices."},
]


def test_the_documented_example_runs() -> None:
    """The document's example returns a list of dicts with id, content and a score from 0 to 1."""
    query = "climate change policy"
    evidence = EVIDENCE
    local_docs = retrieve_local_docs(query, evidence, k=5)
    assert [doc["id"] for doc in local_docs] == [0, 2]
    for doc in local_docs:
        assert isinstance(doc["id"], int)
        assert isinstance(doc["content"], str)
        assert isinstance(doc["score"], float)
        assert 0 < doc["score"] <= 1
    assert local_docs[0]["source_type"] == "evidence"


def test_k_defaults_to_five_and_may_be_given_by_position() -> None:
    """The signature equals that of the document."""
    many = [{"id": i, "content": f"policy number {i}"} for i in range(9)]
    assert len(retrieve_local_docs("policy", many)) == 5
    assert len(retrieve_local_docs("policy", many, 7)) == 7
    assert len(retrieve_local_docs(query="policy", evidence=many, k=50)) == 9
