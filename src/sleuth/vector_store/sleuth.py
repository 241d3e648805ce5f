"""Serves a Sleuth index under the methods of a LangChain vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sleuth.filters import FilterForm
from sleuth.protocols import Embedder
from sleuth.types import Document, Ranking
from sleuth.vector_store.retriever import query_vector


class VectorIndex(Protocol):
    """An index that finds passages by vector; `Engine` is one."""

    def nearest(self, vector: Sequence[float], k: int = 10, *, filter: FilterForm = None) -> Ranking:
        """Return the `k` passages whose vectors have the largest cosine with `vector`; scores are cosines."""


class SleuthVectorStore:
    """The vectors of a Sleuth index, under the method names of a LangChain vector store.

    Distances are 1 minus the cosine: 0 for the same direction, 2 for the opposite.

    Args:
        index: an engine whose index has vectors.
        embedder: the index's own; computes the vectors of texts.

    Attributes:
        store: this object, because document 004's `Retriever` reads it.
        takes_any_filter: every filter of `sleuth.filters` is passed on unchanged.
    """

    takes_any_filter = True

    def __init__(self, index: VectorIndex, embedder: Embedder) -> None:
        self.index = index
        self.embeddings = embedder

    @property
    def store(self) -> SleuthVectorStore:
        """This object."""
        return self

    def similarity_search(self, query: str, k: int = 4, filter: FilterForm = None) -> list[Document]:
        """Return the `k` passages closest to a text, closest first."""
        return self.similarity_search_by_vector(query_vector(self.embeddings, query), k, filter)

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: int = 4, filter: FilterForm = None
    ) -> list[Document]:
        """Return the `k` passages closest to a vector, closest first."""
        return [
            Document(item.text, dict(item.metadata), id=item.id)
            for item in self.index.nearest(embedding, k, filter=filter)
        ]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: FilterForm = None
    ) -> list[tuple[Document, float]]:
        """Return the `k` passages closest to a text with their distances, 0 to 2: lower is closer."""
        ranking = self.index.nearest(query_vector(self.embeddings, query), k, filter=filter)
        return [
            (Document(item.text, dict(item.metadata), id=item.id), max(0.0, 1.0 - (item.score or 0.0)))
            for item in ranking
        ]
