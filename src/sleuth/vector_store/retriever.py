"""Which documents of a vector store lie closest to a question?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sleuth.arguments import check_count
from sleuth.errors import EmbeddingError, RetrievalError, SleuthError
from sleuth.filters import Filter, as_filter, to_chroma
from sleuth.protocols import Embedder
from sleuth.types import Document

T = TypeVar("T")

Where = Filter | Mapping[str, Any] | str | None

_LENGTHS = (
    re.compile(r"expecting embedding with dimension of (?P<index>\d+), got (?P<query>\d+)"),
    re.compile(r"must have (?P<index>\d+) dimensions.*got shape \((?P<query>\d+),\)"),
    re.compile(r"dimension (?P<query>\d+) does not match collection dimensionality (?P<index>\d+)"),
)


class Retriever:
    """Finds documents in a vector store by the vector of a question.

    Args:
        vector_store: an object with a Chroma in `store`, such as `ChromaStore` or `SleuthVectorStore`; or
            that Chroma itself.
        embedder: made the vectors in the store, and makes those of questions.

    Attributes:
        vs: the vector store, with `store`.
        embedder: as given.
    """

    def __init__(self, vector_store: Any, embedder: Embedder) -> None:
        self.vs = vector_store if hasattr(vector_store, "store") else _Holder(vector_store)
        self.embedder = embedder

    def retrieve(self, query: str, k: int = 5, filter: Where = None) -> list[Document]:
        """The `k` documents whose vectors lie closest, closest first.

        Args:
            k: 0 or more; more than there are gives all.
            filter: which documents may answer; one that the store cannot take is refused, never dropped.

        Raises:
            ArgumentError: a k that is negative or not an int.
            FilterError: a filter that cannot be read, or that the store cannot take.
            EmbeddingError: the embedder failed, or its vectors have another length than the store's.
            RetrievalError: the store failed.
        """
        where = self._where(filter)
        k = check_count(k)
        if not k:
            return []
        vector = query_vector(self.embedder, query)
        found = self._ask(
            query, k, lambda: self.vs.store.similarity_search_by_vector(vector, k=k, filter=where)
        )
        return [own_document(document) for document in found]

    def retrieve_with_scores(self, query: str, k: int = 5) -> list[tuple[Document, float]]:
        """The `k` closest documents with their distances: lower is closer.

        Raises:
            ArgumentError, EmbeddingError, RetrievalError: as `retrieve`.
        """
        k = check_count(k)
        if not k:
            return []
        store = self.vs.store
        if getattr(store, "embeddings", self) is None:
            # Chroma would download an embedder of its own; its method of this name returns distances, too.
            vector = query_vector(self.embedder, query)
            found = self._ask(
                query, k, lambda: store.similarity_search_by_vector_with_relevance_scores(vector, k=k)
            )
        else:
            found = self._ask(query, k, lambda: store.similarity_search_with_score(query, k=k))
        return [(own_document(document), float(score)) for document, score in found]

    def retrieve_by_source(self, query: str, source: str | Path, k: int = 5) -> list[Document]:
        """The `k` closest documents of one source.

        Args:
            source: as it stands in the metadata; or the path of a file, relative or absolute, whichever of both it was
                indexed by.

        Raises:
            ArgumentError, EmbeddingError, RetrievalError: as `retrieve`.
        """
        for name in _source_forms(source, self._base()):
            documents = self.retrieve(query, k=k, filter={"source": name})
            if documents:
                return documents
        return []

    def _base(self) -> Path | None:
        """The folder that the paths of a Sleuth index are relative to."""
        path = getattr(getattr(self.vs, "index", None), "path", None)
        return Path(path).absolute().parent if isinstance(path, (str, Path)) else None

    def _where(self, filter: Where) -> Any:
        if filter is None or (isinstance(filter, Mapping) and not filter):
            return None
        if getattr(self.vs.store, "takes_any_filter", False) is True or _is_plain(filter):
            return filter
        tree = as_filter(filter)
        return None if tree is None else to_chroma(tree)

    def _ask(self, query: str, k: int, search: Callable[[], Sequence[T]]) -> Sequence[T]:
        try:
            return search()
        except Exception as cause:
            lengths = next((match for form in _LENGTHS if (match := form.search(str(cause)))), None)
            if lengths is not None:
                raise self._wrong_length(lengths["index"], lengths["query"]) from cause
            if isinstance(cause, SleuthError):
                raise
            context = {"query": query, "k": k, "store": type(self.vs.store).__name__}
            raise RetrievalError(
                f"the vector store failed: {type(cause).__name__}: {cause}", context=context
            ) from cause

    def _wrong_length(self, index: str, query: str) -> EmbeddingError:
        made = recorded_embedder(self.vs.store) or "an embedder that it does not name"
        own = getattr(self.embedder, "model", None) or getattr(self.embedder, "fingerprint", "the embedder")
        return EmbeddingError(
            f"embedder must give vectors of length {index}, as the store's, made with {made}, "
            f"got length {query} from {own}"
        )


class _Holder:
    """A Chroma that was given without anything around it."""

    def __init__(self, store: Any) -> None:
        self.store = store


def query_vector(embedder: Embedder, query: str) -> list[float]:
    """The vector of a question as a list, shape (dimension,).

    Raises:
        EmbeddingError: the embedder gave something else.
    """
    from sleuth.vectors import as_vector

    vector = embedder.embed_query(query)
    as_vector(vector, str(getattr(embedder, "fingerprint", None) or type(embedder).__name__))
    return [float(x) for x in vector]


def own_document(document: Any) -> Document:
    """A LangChain document as ours."""
    id = getattr(document, "id", None)
    return Document(
        document.page_content, dict(document.metadata or {}), id=id if isinstance(id, str) else None
    )


def recorded_embedder(store: Any) -> str:
    """What a store says of the embedder that made its vectors; "" where it says nothing."""
    if getattr(store, "takes_any_filter", False) is True:
        return str(store.embeddings.fingerprint)
    metadata = getattr(getattr(store, "_collection", None), "metadata", None)
    return str(metadata.get("embedder", "")) if isinstance(metadata, Mapping) else ""


def _source_forms(source: str | Path, base: Path | None) -> list[str]:
    """How a file's path may stand in metadata: as it was given, absolute, resolved, and relative to a folder."""
    given = str(source)
    if "://" in given or "\0" in given:
        return [given]
    folders = [Path.cwd(), *([base] if base is not None else [])]
    absolute = [Path(os.path.normpath(folder / given)) for folder in folders]
    absolute += [path.resolve() for path in absolute]
    relative = [
        path.relative_to(folder) for folder in folders for path in absolute if path.is_relative_to(folder)
    ]
    return list(dict.fromkeys([given, *map(str, absolute), *map(str, relative)]))


def _is_plain(filter: Where) -> bool:
    """Whether a filter is one equality, which goes to Chroma as it is."""
    if not isinstance(filter, Mapping) or len(filter) != 1:
        return False
    (key, value), *_ = filter.items()
    return isinstance(key, str) and not key.startswith("$") and isinstance(value, (str, int, float))
