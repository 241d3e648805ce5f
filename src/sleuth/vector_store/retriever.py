"""Finds the documents of a vector store that are closest to a question."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from sleuth.arguments import MOST_K, check_count, check_kind, check_method, check_query
from sleuth.compose.items import best_first
from sleuth.errors import EmbeddingError, RetrievalError, SleuthError
from sleuth.filters import FilterForm, any_of, as_filter, field, to_chroma
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.types import Document, Ranking, RetrievedItem

logger = logger_of("vector_store")

T = TypeVar("T")

_TIES = 32
"""Documents requested beyond k: Chroma breaks ties arbitrarily, so ties at the cut are fetched and broken by id."""

_LENGTHS = (
    re.compile(r"expecting embedding with dimension of (?P<index>\d+), got (?P<query>\d+)"),
    re.compile(r"must have (?P<index>\d+) dimensions(?:(?!must have).)*got shape \((?P<query>\d+),\)"),
    re.compile(r"dimension (?P<query>\d+) does not match collection dimensionality (?P<index>\d+)"),
)


_MOST_MARKS = 8
"""So many `#` of a name may end the path of the file; a path that holds more is found as a whole."""


class Retriever:
    """Finds documents in a vector store by the vector of a question.

    Args:
        vector_store: an object with a Chroma in `store`, such as `ChromaStore` or `SleuthVectorStore`; or
            that Chroma itself.
        embedder: the one that computed the vectors in the store; it computes those of questions.

    Attributes:
        vs: the vector store, with `store`.
        embedder: as passed.
    """

    def __init__(self, vector_store: Any, embedder: Embedder) -> None:
        self.vs = vector_store if hasattr(vector_store, "store") else SimpleNamespace(store=vector_store)
        self.embedder = embedder
        check_method(self.vs.store, "similarity_search_by_vector", "vector_store", "a ChromaStore")
        check_method(embedder, "embed_query", "embedder", "an OllamaEmbedder")

    def retrieve(self, query: str, k: int = 5, filter: FilterForm = None) -> list[Document]:
        """Return the `k` documents whose vectors are closest, closest first.

        Args:
            k: 0 or more, 10,000 at most over a Sleuth index; a k above the number of documents returns all.
            filter: which documents may be returned; one that the store cannot express is refused, never dropped.

        Raises:
            ArgumentError: a k that is negative or not an int.
            FilterError: the filter is invalid, or the store cannot express it.
            EmbeddingError: the embedder failed, or its vectors have another length than the store's.
            RetrievalError: the store failed.
        """
        where = self._where(filter)
        k = check_count(k)
        if not k:
            return []
        return self._nearest(query, query_vector(self.embedder, query), k, where)

    aretrieve = async_twin(retrieve)

    def retrieve_with_scores(self, query: str, k: int = 5) -> list[tuple[Document, float]]:
        """Return the `k` closest documents with their distances: lower is closer.

        Raises:
            ArgumentError, EmbeddingError, RetrievalError: as `retrieve`.
        """
        k = check_count(k)
        if not k:
            return []
        store = self.vs.store
        if getattr(store, "embeddings", self) is None:
            # Chroma would download its own embedder here. This method returns distances as well, despite its name.
            vector = query_vector(self.embedder, query)
            hits = self._ask(
                query, k, lambda: store.similarity_search_by_vector_with_relevance_scores(vector, k=k)
            )
        else:
            hits = self._ask(query, k, lambda: store.similarity_search_with_score(query, k=k))
        return [(own_document(document), float(score)) for document, score in hits]

    aretrieve_with_scores = async_twin(retrieve_with_scores)

    def retrieve_by_source(self, query: str, source: str | Path, k: int = 5) -> list[Document]:
        """Return the `k` closest documents of one source.

        Args:
            source: as in the metadata; or the path of a file, relative or absolute, no matter which of both was
                indexed. A file answers with all its rows, members and attachments, `mail.eml#notes.txt` with those of
                one member.

        Raises:
            ArgumentError, EmbeddingError, RetrievalError: as `retrieve`.
        """
        k = check_count(k)
        if not k:
            return []
        check_kind(source, str | Path, "source", "a text or a Path")
        vector: list[float] = []  # of the query, once more than one search is needed
        for name in _source_forms(source, getattr(getattr(self.vs, "index", None), "path", None)):
            where = {"source": name}
            documents = (
                self._nearest(query, vector, k, where) if vector else self.retrieve(query, k=k, filter=where)
            )
            if not documents or any("path" in document.metadata for document in documents):
                vector = vector or query_vector(self.embedder, query)
                # All that was read from a file too, or from a member of it, as `FILE#MEMBER`.
                path, member = field("path"), field("member")
                places = [i for i, letter in enumerate(name) if letter == "#"][:_MOST_MARKS]
                members = [(path == name[:i]) & (member == name[i + 1 :]) for i in places]
                parts = any_of(field("source") == name, path == name, *members)
                documents = self._nearest(query, vector, k, self._where(parts, lists=False))
            if documents:
                return documents
        return []

    aretrieve_by_source = async_twin(retrieve_by_source)

    def _where(self, filter: FilterForm, *, lists: bool = True) -> Any:
        if filter is None or (isinstance(filter, Mapping) and not filter):
            return None
        is_equality = isinstance(filter, Mapping) and len(filter) == 1  # Chroma takes a single one unchanged
        for key, value in filter.items() if isinstance(filter, Mapping) else ():
            is_equality &= isinstance(key, str) and key[:1] != "$" and isinstance(value, (str, int, float))
        if getattr(self.vs.store, "takes_any_filter", False) is True or is_equality:
            return filter
        tree = as_filter(filter)
        return None if tree is None else to_chroma(tree, lists=lists)

    def _nearest(self, query: str, vector: Sequence[float], k: int, where: Any) -> list[Document]:
        hits = self._ask(
            query, k, lambda: self.vs.store.similarity_search_by_vector(vector, k=k, filter=where)
        )
        return [own_document(document) for document in hits]

    def _ask(self, query: str, k: int, search: Callable[[], Sequence[T]]) -> Sequence[T]:
        logger.debug("asking %s for %d documents", type(self.vs.store).__name__, k)
        try:
            return search()
        except Exception as cause:
            lengths = next((match for form in _LENGTHS if (match := form.search(str(cause)))), None)
            if lengths is not None:
                maker = recorded_embedder(self.vs.store) or "an embedder that it does not name"
                fingerprint = getattr(self.embedder, "fingerprint", "the embedder")
                raise EmbeddingError(
                    f"embedder must give vectors of length {lengths['index']}, as the store's, made with {maker}, "
                    f"got length {lengths['query']} from {getattr(self.embedder, 'model', None) or fingerprint}"
                ) from cause
            if isinstance(cause, SleuthError):
                raise
            message = f"the vector store failed: {type(cause).__name__}: {cause}"
            context = {"query": query, "k": k, "store": type(self.vs.store).__name__}
            raise RetrievalError(message, context=context) from cause


def query_vector(embedder: Embedder, query: str) -> list[float]:
    """Return the vector of a question as a list, shape (dimension,).

    Raises:
        ArgumentError: a query that is not a string or too long.
        EmbeddingError: the embedder failed or returned something else.
    """
    from sleuth.vectors import as_vector, ask_embedder, name_of

    name = name_of(embedder)
    vector = ask_embedder(embedder.embed_query, check_query(query), name)
    as_vector(vector, name)
    return [float(x) for x in vector]


def own_document(document: Any) -> Document:
    """Convert a LangChain document to a `Document`."""
    id = getattr(document, "id", None)
    return Document(
        document.page_content, dict(document.metadata or {}), id=id if isinstance(id, str) else None
    )


def recorded_embedder(store: Any) -> str:
    """Return the embedder that a store records as the maker of its vectors, or ""."""
    if getattr(store, "takes_any_filter", False) is True:
        return str(store.embeddings.fingerprint)
    metadata = getattr(getattr(store, "_collection", None), "metadata", None)
    return str(metadata.get("embedder", "")) if isinstance(metadata, Mapping) else ""


def _source_forms(source: str | Path, index: object) -> list[str]:
    """Return the forms that a file's path may have in metadata: as passed, absolute, resolved, relative.

    Args:
        index: the folder of a Sleuth index, whose paths are relative to the one around it; other values say nothing.
    """
    text = str(source)
    if "://" in text or "\0" in text:
        return [text]
    folders = [Path.cwd(), *([Path(index).absolute().parent] if isinstance(index, (str, Path)) else [])]
    absolute = [Path(os.path.normpath(folder / text)) for folder in folders]
    absolute += [path.resolve() for path in absolute]
    relative = [
        path.relative_to(folder) for folder in folders for path in absolute if path.is_relative_to(folder)
    ]
    return list(dict.fromkeys([text, *map(str, absolute), *map(str, relative)]))


class VectorStoreRetriever:
    """A vector store as a `protocols.Retriever`: ranked items whose scores are higher where they are closer.

    Args:
        vector_store, embedder: as of `Retriever`.
    """

    def __init__(self, vector_store: Any, embedder: Embedder) -> None:
        self._retriever = Retriever(vector_store, embedder)

    def retrieve(self, query: str, k: int = 10, *, filter: FilterForm = None) -> Ranking:
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
            query, k, lambda: ask(vector if search else query, k=max(k, min(k + _TIES, MOST_K)), filter=where)
        )
        items: list[RetrievedItem] = []
        for hit, distance in hits:
            document = own_document(hit)
            id, score = document.id or str(document.metadata.get("source", "")), 1.0 / (1.0 + float(distance))
            items.append(
                RetrievedItem(id=id, text=document.page_content, metadata=document.metadata, score=score)
            )
        return Ranking(best_first(items)[:k])

    aretrieve = async_twin(retrieve)
