"""The contract of document 004's Retriever, over a real Chroma and over a Sleuth index."""

from pathlib import Path
from typing import Any

import pytest

from sleuth import protocols
from sleuth.errors import EmbeddingError
from sleuth.testing.contracts import RetrieverContract
from sleuth.types import Document
from sleuth.vector_store import Retriever, VectorStoreRetriever
from tests.embedders import Letters
from tests.vector_store.conftest import DOCUMENTS, Words


@pytest.fixture
def retriever(store: Any) -> Retriever:
    return Retriever(vector_store=store, embedder=Words())


def names(documents: list[Document]) -> list[str]:
    """Return the names of these documents."""
    by_text = {document.page_content: document.id or "" for document in DOCUMENTS}
    return [by_text[document.page_content] for document in documents]


def distance(a: str, b: str) -> float:
    """Return 1 minus the cosine, computed slowly."""
    first, right = Words().embed_query(a), Words().embed_query(b)
    return 1 - sum(x * y for x, y in zip(first, right, strict=True))


def test_closest_first(retriever: Retriever) -> None:
    """Documents are ordered as by an exhaustive comparison, closest first."""
    query = "is Python a language"
    documents = retriever.retrieve(query, k=5)
    expected = sorted(DOCUMENTS, key=lambda document: distance(query, document.page_content))
    assert names(documents) == names(expected)
    assert all(type(document) is Document for document in documents)


def test_k(retriever: Retriever) -> None:
    """k = 0 gives no hits, and a large k gives all."""
    assert retriever.retrieve("Python", k=0) == []
    assert retriever.retrieve_with_scores("Python", k=0) == []
    assert len(retriever.retrieve("Python", k=99)) == 5
    assert names(retriever.retrieve("Python", k=2)) == names(retriever.retrieve("Python", k=3))[:2]


def test_scores_are_distances(retriever: Retriever) -> None:
    """A score is 1 minus the cosine, lower is closer, in the order of `retrieve`."""
    query = "Python is a language"
    pairs = retriever.retrieve_with_scores(query, k=4)
    assert names([document for document, _ in pairs]) == names(retriever.retrieve(query, k=4))
    for document, score in pairs:
        assert score == pytest.approx(distance(query, document.page_content), abs=2e-3)
    assert [score for _, score in pairs] == sorted(score for _, score in pairs)


def test_a_failed_embedder_is_an_embedding_error(retriever: Retriever) -> None:
    """Whatever the embedder raises for a question, the caller gets an EmbeddingError that is chained to it."""
    down = Letters()
    down.failure = ConnectionError("no route")
    with pytest.raises(
        EmbeddingError, match=r"embedder 'letters/26' failed: ConnectionError: no route"
    ) as caught:
        Retriever(retriever.vs, down).retrieve("Python")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_by_source(retriever: Retriever) -> None:
    """Only documents of the source are returned, by the name in their metadata or by path."""
    for source in ("/docs/python.md", Path("/docs/python.md")):
        assert set(names(retriever.retrieve_by_source("snakes", source))) == {"python", "code"}
    assert names(retriever.retrieve_by_source("Python code", "/docs/python.md", k=1)) == ["code"]
    assert retriever.retrieve_by_source("Python", "/docs/nowhere.md") == []


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"year": 2001}, {"snakes", "code"}),
        ({"year": {"$gte": 2001}, "source": "/docs/python.md"}, {"code"}),
        ({"$or": [{"year": 1991}, {"year": 2020}]}, {"python", "bread"}),
        ("year<2000", {"python"}),
        ({"year": {"$in": [1991, 2015]}}, {"python", "rust"}),
        ({}, {"python", "rust", "snakes", "code", "bread"}),
        (None, {"python", "rust", "snakes", "code", "bread"}),
    ],
)
def test_filters(retriever: Retriever, filter: Any, expected: set[str]) -> None:
    """A filter in any accepted form is applied before the cut."""
    assert set(names(retriever.retrieve("language", k=5, filter=filter))) == expected
    assert len(retriever.retrieve("bread", k=1, filter=filter)) == 1


def test_another_length_names_both(store: Any) -> None:
    """A vector of another length raises an error with both lengths and both embedders."""
    expected = "length 64, as the store's, made with words-64, got length 32 from short"
    with pytest.raises(EmbeddingError, match=expected):
        Retriever(store, Words(32, "short")).retrieve("Python")


def test_as_a_retriever_like_any_other(store: Any) -> None:
    """The same store gives rankings for fusion and answers, with higher scores for closer documents."""
    retriever = VectorStoreRetriever(store, Words())
    assert retriever.retrieve("is Python a language", 3)[0].text == "Python is a programming language."
    assert [item.metadata["year"] for item in retriever.retrieve("language", 9, filter={"year": 2001})] == [
        2001,
        2001,
    ]
    assert len(retriever.retrieve("", 3)) == len(retriever.retrieve("Python", 0)) == 0


class TestRanking(RetrieverContract):
    """The retriever contract over each store."""

    query = "Python language"

    @pytest.fixture(autouse=True)
    def over(self, store: Any) -> None:
        self.store = store

    def make(self) -> protocols.Retriever:
        return VectorStoreRetriever(self.store, Words())
