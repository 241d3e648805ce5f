"""Documents that a framework stores and gets back as they were: one passage each, their metadata unchanged."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, NamedTuple, cast
from uuid import uuid4
from weakref import finalize

from sleuth.engine import Engine
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.filters import And, Filter, all_of, field
from sleuth.protocols import Embedder
from sleuth.store import text_hash
from sleuth.types import Chunk, Document, RetrievedItem
from sleuth.vector_store import fingerprint_of
from sleuth.vectors import as_vectors

_OWN: Final = "_own"
"""Metadata key that lists those of `_ADDED` that the document came with; absent where there are no such keys."""
_ADDED: Final = ("source", "title", "language")
"""Metadata keys that the engine may add to a document."""
_NONE: Final = "None of "
"""Stands in `_OWN` before a key whose value is None: the engine replaces such a value by its own."""
_VECTOR: Final = "_own_vector"
"""Metadata key of the hash of the vector that a document came with, and the text of its passage that names it."""
_OF_PASSAGES: Final = ("start_line", "end_line")


class WholeDocuments:
    """Makes each document one passage: a `DocumentChunker`."""

    fingerprint = "whole documents"

    def split(self, document: Document) -> Sequence[Chunk]:
        """Return the document as one chunk; none if it is blank."""
        text = document.page_content
        fields = {_VECTOR: str(document.metadata.get(_VECTOR, ""))}
        return [Chunk(text, 0, len(text), 1, text.count("\n") + 1, fields=fields)] if text.strip() else []


class NamedEmbedder:
    """An `Embedder` of an object without a fingerprint, such as embeddings of LangChain.

    Args:
        embeddings: has `embed_query` and `embed_documents`.
        fingerprint: names the model; "" for its own `model` or `model_name`, or else its class and dimension.
    """

    def __init__(self, embeddings: Any, fingerprint: str = "") -> None:
        self._embeddings = embeddings
        try:
            self.fingerprint = fingerprint or fingerprint_of(embeddings)
        except ArgumentError:
            if not hasattr(embeddings, "embed_documents"):
                raise
            dimension = len(embeddings.embed_query("dimension"))
            self.fingerprint = f"{type(embeddings).__name__} of {dimension} dimensions"

    def embed_query(self, text: str) -> Any:
        """Return one vector, shape (dimension,)."""
        return self._embeddings.embed_query(text)

    def embed_documents(self, texts: list[str]) -> Any:
        """Return one vector per text, shape (len(texts), dimension)."""
        return self._embeddings.embed_documents(texts)


class VectorsOfOthers:
    """An `Embedder` for a framework that makes the vectors itself, and hands them over with documents and queries.

    The index keeps those of documents in its record, so that it can be rebuilt without the framework. What is embedded
    of a document is the hash of its vector: its title may change, and another of the same text has another vector.
    """

    fingerprint = "vectors of others"
    fields = (_VECTOR,)
    _vectors: ClassVar[ContextVar[dict[str, Sequence[float]]]] = ContextVar("vectors of queries")

    @contextmanager
    def holding(self, query: str, vector: Sequence[float]) -> Iterator[None]:
        """Within the block, and in no other thread, `embed_query` answers with this vector."""
        token = self._vectors.set({query: vector})
        try:
            yield
        finally:
            self._vectors.reset(token)

    def embed_query(self, text: str) -> Sequence[float]:
        """Return the vector that was handed over with a query.

        Raises:
            EmbeddingError: no vector came with it.
        """
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: list[str]) -> list[Sequence[float]]:
        """Return the vectors that were handed over with these queries.

        Raises:
            EmbeddingError: a text came without its vector.
        """
        try:
            return [self._vectors.get({})[text] for text in texts]
        except KeyError as error:
            raise EmbeddingError(f"each text must come with its vector, got none for {error}") from None


class Whole(NamedTuple):
    """A document as a framework gave it, or a passage of an index that something else made.

    Attributes:
        score: None where the document was read, and not found by a search.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None = None


class WholeIndex:
    """An index of whole documents: what stores of other frameworks have in common.

    An engine over an index that was cut into passages may be given too; then each passage stands for a document.

    Attributes:
        engine: the index.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._is_whole = engine.settings.chunker == f"custom:{WholeDocuments.fingerprint}"

    @classmethod
    def open(cls, path: str | Path | None, embedder: Embedder | str | None = None) -> WholeIndex:
        """Open the index in a folder, or make it there.

        Args:
            path: None for a folder that goes with the engine, as an index in memory does.
            embedder: as of `Engine.open`.
        """
        scratch = None if path is not None else TemporaryDirectory(prefix="sleuth-memory-")
        folder = Path(scratch.name, "index") if scratch is not None else cast("Path", path)
        engine = Engine.open(folder, create=True, embedder=embedder, chunker=WholeDocuments())
        if scratch is not None:
            finalize(engine, _discard, engine.backend, scratch)
        return cls(engine)

    def add(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any] | None],
        ids: Iterable[str | None],
        vectors: Iterable[Sequence[float]] | None = None,
    ) -> list[str]:
        """Add documents, replace those whose id is there, and return all ids; a document without one gets a random one.

        Args:
            vectors: for an index of `VectorsOfOthers`: one for each document, in order.

        Raises:
            EmbeddingError: vectors that are not finite, or of another length than others; nothing is stored.
        """
        names = [id or str(uuid4()) for id in ids]
        documents = list(map(_stored, texts, metadatas, names))
        if vectors is not None and names:
            model, cache = VectorsOfOthers.fingerprint, cast("Any", self.engine.backend.vector_cache)
            checked = as_vectors(list(vectors), len(names), model)
            self.engine.nearest(checked[0], 1)  # refuses vectors of another length than those of the index
            rows: dict[str, bytes] = {}
            for document, vector in zip(documents, checked, strict=True):
                name = document.metadata[_VECTOR] = blake2b(vector.tobytes(), digest_size=8).hexdigest()
                rows[text_hash(name)] = vector.tobytes()
            cache.put(model, rows)
        self.engine.add(documents)
        return names

    def get(self, ids: Iterable[str]) -> Iterator[Whole]:
        """Yield the documents with these ids, in order, without those that are not there."""
        for id in dict.fromkeys(ids):
            yield from map(self.whole, self.engine.get(id))

    def values(self, key: str, filter: Filter | None = None) -> list[Any]:
        """Return the values that the documents came with under a key, each once; a list counts by its members.

        Values are read from the columns of the index, and not from the documents.
        """
        key_filter = field(_OWN).contains(key) if key in _ADDED else None
        facets = self.engine.facets(key, filter=all_of(key_filter, filter), limit=2**31)[key]  # all of them
        return [facet.value for facet in facets]

    def types(self) -> dict[str, tuple[str, ...]]:
        """Return the JSON types of the values under each key that the documents came with, a key of objects once."""
        types: dict[str, tuple[str, ...]] = {}
        for key in self.engine.metadata_keys():
            name = key.name.partition(".")[0]
            if name not in (_OWN, _VECTOR, *_OF_PASSAGES) and (name not in _ADDED or self.values(name)):
                types[name] = types.get(name, ()) + key.types
        return types

    def nearest(self, vector: Sequence[float], k: int, filter: Any = None) -> list[Whole]:
        """Return the `k` documents whose vectors are nearest to this one; scores are cosines."""
        return list(map(self.whole, self.engine.nearest(vector, k, filter=filter)))

    def vectors(self, documents: Iterable[Whole]) -> list[list[float]]:
        """Return the vectors that documents came with.

        Raises:
            ArgumentError: an index that is not of `VectorsOfOthers` may keep none.
            EmbeddingError: a document whose vector an earlier version wrote.
        """
        embedder, cache = self.engine.embedder, self.engine.backend.vector_cache
        if not isinstance(embedder, VectorsOfOthers) or cache is None:
            raise ArgumentError(f"engine must keep the vectors that it was given, got one of {embedder!r}")
        items = [item for document in documents for item in self.engine.get(document.id)]
        try:
            hashes = [text_hash(item.metadata[_VECTOR]) for item in items]
            vector_by_hash = cache.get(embedder.fingerprint, hashes)
            return [array("f", vector_by_hash[key]).tolist() for key in hashes]
        except KeyError as error:
            raise EmbeddingError(
                f"documents must have vectors, got none by {error}: add them again"
            ) from None

    def search(self, query: str, k: int, **options: Any) -> list[Whole]:
        """Return the best `k` documents for a query.

        Args:
            options: of `Engine.retrieve`.
        """
        return list(map(self.whole, self.engine.retrieve(query, k, **options)))

    def whole(self, item: RetrievedItem) -> Whole:
        """Return the document of an item, as it was given."""
        metadata, own_keys = dict(item.metadata), item.metadata.get(_OWN, ())
        id = item.document_id if self._is_whole else item.id
        if self._is_whole:
            for key in (*(key for key in _ADDED if key not in own_keys), *_OF_PASSAGES, _OWN, _VECTOR):
                metadata.pop(key, None)
            metadata.update({key: None for key in _ADDED if _NONE + key in own_keys})
        return Whole(id, item.text, metadata, item.score)


def _discard(backend: Any, scratch: TemporaryDirectory[str]) -> None:
    backend.close(finish=False)  # a merge that runs would write into the folder
    scratch.cleanup()


def nothing(key: str) -> Filter:
    """Return a filter that nothing matches: of a key that exists and does not."""
    return And((field(key).exists(), field(key).exists(False)))


def _stored(text: str, metadata: Mapping[str, Any] | None, id: str) -> Document:
    values = dict(metadata or {})
    if own_keys := [key if values[key] is not None else _NONE + key for key in _ADDED if key in values]:
        values[_OWN] = own_keys
    return Document(text, values, id=id)
