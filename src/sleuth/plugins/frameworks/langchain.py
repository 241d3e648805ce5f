"""Sleuth in LangChain: a retriever, a vector store and a document index.

from sleuth import Engine
from sleuth.plugins.frameworks.langchain import SleuthRetriever

with Engine.open(".sleuth") as engine:
    documents = SleuthRetriever(source=engine, k=5).invoke("how are tokens refilled")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field

from sleuth.arguments import check_names
from sleuth.errors import ArgumentError, requires
from sleuth.plugins.frameworks.whole import NamedEmbedder, Whole, WholeIndex
from sleuth.remote import async_twin

with requires("langchain-core", "langchain", "retrievers and stores of LangChain"):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.indexing.base import DeleteResponse, DocumentIndex, UpsertResponse
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance


class SleuthRetriever(BaseRetriever):
    """Any retriever of Sleuth as one of LangChain: an `Engine`, a `CodeRetriever`, `Sources`, a client of Chroma.

    `invoke` and `ainvoke` take `k` and every option that `source.retrieve` takes, such as `filter`.

    Attributes:
        source: has `retrieve(query, k, ...)`.
        k: how many documents, where `invoke` does not say. A `score` is added to their metadata that have none.
        options: further arguments of every `source.retrieve`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    source: Any
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return self._find(query, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return await self._afind(query, **options)

    def _find(self, query: str, **options: Any) -> list[Document]:
        ranking = self.source.retrieve(query, **{"k": self.k, **self.options, **options})
        return [
            Document(id=item.id, page_content=item.text, metadata={"score": item.score, **item.metadata})
            for item in ranking
        ]

    _afind = async_twin(_find)


class SleuthVectorStore(VectorStore):
    """An index of Sleuth as a vector store of LangChain, with any embeddings.

    Each document is one passage, and comes back as it was. `filter` takes every form of `docs/concepts/filters.md`.
    Scores are cosines. `SleuthRetriever(source=store.engine)` searches the same documents by words and meaning.
    """

    def __init__(self, engine: Any = None, embeddings: Embeddings | None = None, **options: Any) -> None:
        """Create a store over an open engine; `open` opens one.

        Args:
            engine: an `Engine` whose index has vectors.
            embeddings: what made them; None for the engine's own embedder.
            options: none; those of other stores are refused.
        """
        if options or not hasattr(engine, "nearest"):
            wrong = ", ".join(options) or repr(engine)
            raise ArgumentError(
                f"engine must be an Engine, got {wrong}: use SleuthVectorStore.open(path, embeddings)"
            )
        self.engine = engine
        self._index = WholeIndex(engine)
        self._embeddings = embeddings or _EmbedderEmbeddings(engine.embedder)

    @classmethod
    def open(
        cls, path: str | Path | None = None, embeddings: Embeddings | None = None, *, model: str = ""
    ) -> SleuthVectorStore:
        """Open the index in a folder, or make it there; `store.engine.close()` closes it.

        Args:
            path: None for an index that goes with the store.
            embeddings: None for the default embedder of Sleuth.
            model: names the embeddings' model; "" for their `model` or `model_name`, or else class and dimension.
        """
        embedder = None if embeddings is None else NamedEmbedder(embeddings, model)
        return cls(WholeIndex.open(path, embedder).engine, embeddings)

    @property
    def embeddings(self) -> Embeddings:
        """What makes the vectors."""
        return self._embeddings

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | Path | None = None,
        model: str = "",
        **options: Any,
    ) -> SleuthVectorStore:
        """Return a store in the folder `path` that holds these texts, and those that it held before; None is a new one.

        Raises:
            ArgumentError: an option of another store, such as `collection_name`: each collection is a `path`.
        """
        check_names(options, ("metadatas", "ids", "path", "model"))
        store = cls.open(path, embedding, model=model)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **options: Any,
    ) -> list[str]:
        """Add texts, replace those whose id is there, and return the ids.

        `batch_size`, which `langchain_core.indexing.index` sends, changes nothing: all texts are one batch.
        """
        check_names(options, ("metadatas", "ids", "batch_size"))
        texts = list(texts)
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(texts):
                raise ArgumentError(
                    f"{name} must have one value for each of {len(texts)} texts, got {len(values)}"
                )
        return self._index.add(texts, metadatas or [{}] * len(texts), ids or [None] * len(texts))

    def delete(self, ids: list[str] | None = None, **options: Any) -> bool:
        """Delete documents by their ids, and return whether each of them was there."""
        check_names(options, ("ids",))
        return set(self.engine.delete(_named(ids))) == set(_named(ids))

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids that are there."""
        return list(map(_document, self._index.get(ids)))

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        """Return the `k` documents nearest to a text; `filter` chooses among them."""
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **options: Any
    ) -> list[Document]:
        """Return the `k` documents nearest to a vector."""
        return list(map(_document, self._index.nearest(embedding, k, _filter(options))))

    def similarity_search_with_score(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the `k` documents nearest to a text, with their cosines."""
        nearest = self._index.nearest(self._embeddings.embed_query(query), k, _filter(options))
        return [(_document(document), document.score or 0.0) for document in nearest]

    def _select_relevance_score_fn(self) -> Any:
        return lambda cosine: min(1.0, max(0.0, cosine))

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return `k` of the `fetch_k` nearest documents that differ from each other."""
        _filter(options)
        vector = self._embeddings.embed_query(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, **options)

    def max_marginal_relevance_search_by_vector(
        self, embedding: list[float], k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, **options: Any
    ) -> list[Document]:
        """Return `k` of the `fetch_k` documents nearest to a vector that differ from each other."""
        import numpy as np

        documents = self.similarity_search_by_vector(embedding, fetch_k, **options)
        vectors = self._embeddings.embed_documents([document.page_content for document in documents])
        places = maximal_marginal_relevance(np.asarray(embedding), vectors, lambda_mult, k) if vectors else []
        return [documents[place] for place in places]


class SleuthDocumentIndex(DocumentIndex):
    """An index of Sleuth as a document index of LangChain: documents by id, found by words and meaning.

    Attributes:
        engine: an `Engine`; `open` opens one whose documents come back as they were.
        k: how many documents `invoke` gives.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    engine: Any
    k: int = 10

    @classmethod
    def open(cls, path: str | Path, *, k: int = 10) -> SleuthDocumentIndex:
        """Open the index in a folder, or make it there; `index.engine.close()` closes it."""
        return cls(engine=WholeIndex.open(path).engine, k=k)

    def upsert(self, items: Sequence[Document], /, **options: Any) -> UpsertResponse:
        """Add documents, and replace those whose id is there."""
        check_names(options, ())
        texts, metadatas, ids = (
            [getattr(item, key) for item in items] for key in ("page_content", "metadata", "id")
        )
        return UpsertResponse(succeeded=WholeIndex(self.engine).add(texts, metadatas, ids), failed=[])

    def delete(self, ids: list[str] | None = None, **options: Any) -> DeleteResponse:
        """Delete documents by their ids."""
        check_names(options, ("ids",))
        names = self.engine.delete(_named(ids))
        return DeleteResponse(num_deleted=len(names), succeeded=names, failed=[], num_failed=0)

    def get(self, ids: Sequence[str], /, **options: Any) -> list[Document]:
        """Return the documents with these ids that are there."""
        check_names(options, ())
        return list(map(_document, WholeIndex(self.engine).get(ids)))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return list(map(_document, WholeIndex(self.engine).search(query, **{"k": self.k, **options})))


class _EmbedderEmbeddings(Embeddings):
    """The embedder of an index as embeddings of LangChain."""

    def __init__(self, embedder: Any) -> None:
        if embedder is None:
            raise ArgumentError(
                "engine must have an embedder, got an index of words alone: give `embeddings`"
            )
        self._embedder = embedder

    def embed_query(self, text: str) -> list[float]:
        return [float(value) for value in self._embedder.embed_query(text)]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(value) for value in vector] for vector in self._embedder.embed_documents(texts)]


def _named(ids: list[str] | None) -> list[str]:
    if ids is None:
        raise ArgumentError("ids must be a list of document ids, got None")
    return ids


def _filter(options: dict[str, Any]) -> Any:
    """Return the filter of a search; an option that is not used would leave its results unfiltered."""
    check_names(options, ("filter", "k"))
    return options.get("filter")


def _document(whole: Whole) -> Document:
    return Document(id=whole.id, page_content=whole.text, metadata=whole.metadata)
