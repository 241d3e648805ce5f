"""Ranks documents of a vector store for a query, as a `Retriever`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.arguments import MOST_K, check_count, check_query
from sleuth.filters import Filter
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.types import Ranking, RetrievedItem
from sleuth.vector_store.retriever import Retriever, own_document, query_vector

TIES = 32
"""Documents requested beyond k: Chroma breaks ties arbitrarily, so ties at the cut are fetched and broken by id."""


class VectorStoreRetriever:
    """A vector store as a `protocols.Retriever`: ranked items whose scores are higher where they are closer.

    Args:
        vector_store, embedder: as of `Retriever`.
    """

    def __init__(self, vector_store: Any, embedder: Embedder) -> None:
        self._retriever = Retriever(vector_store, embedder)

    def retrieve(
        self, query: str, k: int = 10, *, filter: Filter | Mapping[str, Any] | str | None = None
    ) -> Ranking:
        """Return the best `k` documents; a score is 1 / (1 + distance), in (0, 1].

        Raises:
            ArgumentError, FilterError, EmbeddingError, RetrievalError: as `Retriever.retrieve`.
        """
        k = check_count(k)
        if not k or not check_query(query).strip():
            return Ranking(())
        store = self._retriever.vs.store
        where = self._retriever._where(filter)
        vector = query_vector(self._retriever.embedder, query)
        search = getattr(store, "similarity_search_by_vector_with_relevance_scores", None)
        ask = search or store.similarity_search_with_score
        hits = self._retriever._ask(
            query, k, lambda: ask(vector if search else query, k=max(k, min(k + TIES, MOST_K)), filter=where)
        )
        pairs = [(own_document(document), 1.0 / (1.0 + float(distance))) for document, distance in hits]
        items = [
            RetrievedItem(
                id=document.id or str(document.metadata.get("source", "")),
                text=document.page_content,
                metadata=document.metadata,
                score=score,
            )
            for document, score in pairs
        ]
        return Ranking(sorted(items, key=lambda item: (-(item.score or 0.0), item.id))[:k])

    aretrieve = async_twin(retrieve)
