"""The contract of document 004's Retriever, over a real Chroma and over a Sleuth index."""

from typing import Any

import pytest

from sleuth import protocols
from sleuth.errors import ArgumentError, EmbeddingError
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


def test_k(retriever: Retriever) -> None:
    """k = 0 gives no hits, and a large k gives all."""
    assert retriever.retrieve("Python", k=0) == []
    assert retriever.retrieve_with_scores("Python", k=0) == []
    assert len(retriever.retrieve("Python", k=99)) == 5
    assert names(retriever.retrieve("Python", k=2)) == names(retriever.retrieve("Python", k=3))[:2]


def test_arguments(retriever: Retriever) -> None:
    """What is no store, no embedder or no source raises an error that names it."""
    for call, name in (
        (lambda: Retriever(None, Words()), "vector_store"),
        (lambda: Retriever(retriever.vs, None), "embedder"),  # type: ignore[arg-type]
        (lambda: retriever.retrieve_by_source("Python", None), "source"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ArgumentError, match=f"{name} must .*, got None"):
            call()


def test_scores_are_distances(retriever: Retriever) -> None:
    """A score is 1 minus the cosine; documents are ordered as by an exhaustive comparison, closest first."""
    query = "is Python a language"
    pairs, documents = retriever.retrieve_with_scores(query, k=5), retriever.retrieve(query, k=5)
    closest = sorted(DOCUMENTS, key=lambda document: distance(query, document.page_content))
    assert names([document for document, _ in pairs]) == names(documents) == names(closest)
    assert all(type(document) is Document for document in documents)
    for document, score in pairs:
        assert score == pytest.approx(distance(query, document.page_content), abs=2e-3)


def test_a_failed_embedder_is_an_embedding_error(retriever: Retriever) -> None:
    """Whatever the embedder raises for a question, the caller gets an EmbeddingError that is chained to it."""
    down = Letters()
    down.failure = ConnectionError("no route")
    with pytest.raises(
        EmbeddingError, match=r"embedder 'letters/26' failed: ConnectionError: no route"
    ) as caught:
        Retriever(retriever.vs, down).retrieve("Python")
    assert isinstance(caught.value.__cause__, ConnectionError)


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
    items = retriever.retrieve("language", 9, filter={"year": 2001})
    assert [item.metadata["year"] for item in items] == [2001, 2001]
    assert len(retriever.retrieve("", 3)) == 0


class TestRanking(RetrieverContract):
    """The retriever contract over each store."""

    query = "Python language"

    @pytest.fixture(autouse=True)
    def over(self, store: Any) -> None:
        self.store = store

    def make(self) -> protocols.Retriever:
        return VectorStoreRetriever(self.store, Words())
