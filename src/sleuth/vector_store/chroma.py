"""Opens, fills and reads an embedded Chroma with telemetry off."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError, EmbedderMismatchError, MissingPackageError, StoreError
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.types import Document
from sleuth.vector_store.retriever import query_vector, recorded_embedder

if TYPE_CHECKING:
    from langchain_chroma import Chroma

BATCH = 500


class ChromaStore:
    """A collection of an embedded Chroma.

    Args:
        path: its folder; None for one in memory.
        collection: its name; a missing one is created.
        embedder: computes the vectors of added documents; a new collection records its name.

    Raises:
        ArgumentError: an embedder without a fingerprint.
        MissingPackageError: `langchain-chroma` is not installed.
        EmbedderMismatchError: the collection was made with another embedder; names both.

    Attributes:
        store: LangChain's `Chroma`, telemetry off.
    """

    def __init__(
        self, path: str | Path | None = None, collection: str = "sleuth", *, embedder: Embedder
    ) -> None:
        try:
            from langchain_chroma import Chroma
        except ImportError as error:
            raise MissingPackageError("langchain-chroma", "chroma", "a Chroma vector store") from error
        self.embedder = embedder
        fingerprint = _fingerprint(embedder)
        self.store: Chroma = Chroma(
            collection_name=collection,
            client=open_client(path),
            embedding_function=_Lists(embedder),  # type: ignore[arg-type]
            collection_metadata={"embedder": fingerprint, "hnsw:space": "cosine"},
        )
        recorded = recorded_embedder(self.store)
        if recorded not in ("", fingerprint):
            raise EmbedderMismatchError(
                f"embedder must be {recorded!r}, with which the collection {collection!r} was made, "
                f"got {fingerprint!r}; to change it, add the documents to a new collection",
                path=str(path or ""),
            )

    def add(self, documents: Iterable[Document]) -> list[str]:
        """Add documents and return their ids; a document replaces the stored one with the same id.

        A document without an id gets one from its text and metadata, so that adding it again changes nothing; equal
        ones are numbered, so that each is stored. Documents are stored whole: cut long ones first. Metadata that
        Chroma cannot hold (nested values) become JSON.
        """
        ids: list[str] = []
        copies: Counter[str] = Counter()
        waiting = iter(documents)
        while batch := list(islice(waiting, BATCH)):
            names = [document.id or _name(document, copies) for document in batch]
            newest = dict(zip(names, batch, strict=True))  # Chroma refuses a batch that holds an id twice
            self.store.add_texts(
                [document.page_content for document in newest.values()],
                metadatas=[flat(document.metadata) for document in newest.values()],
                ids=list(newest),
            )
            ids.extend(names)
        return ids

    aadd = async_twin(add)


def _fingerprint(embedder: Embedder) -> str:
    fingerprint = getattr(embedder, "fingerprint", None)
    if not isinstance(fingerprint, str) or not fingerprint:
        raise ArgumentError(
            f"embedder must have a fingerprint, a str that names its model, got {type(embedder).__name__} without one"
        )
    return fingerprint


class _Lists:
    """An embedder whose vectors are lists, which is what LangChain expects."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_query(self, text: str) -> list[float]:
        return query_vector(self._embedder, text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in self._embedder.embed_documents(texts)]


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A document of a Chroma with its vector.

    Attributes:
        vector: shape (dimension,).
    """

    document: Document
    vector: Sequence[float]


def open_client(path: str | Path | None) -> Any:
    """Return a client of an embedded Chroma with telemetry off."""
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError as error:
        raise MissingPackageError("chromadb", "chroma", "a Chroma vector store") from error
    if path is None:
        return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


def read_chroma(path: str | Path, collection: str | None = None) -> Iterator[StoredVector]:
    """Yield all documents of a collection with their vectors, in its order. Documents without text are skipped.

    Args:
        path: the folder of an embedded Chroma; it must exist.
        collection: its name; optional if there is only one.

    Raises:
        ArgumentError: no Chroma at `path`, or no collection of this name; lists the existing ones.
        StoreError: a document without its vector.
    """
    if not (Path(path) / "chroma.sqlite3").is_file():
        raise ArgumentError(
            f"path must be the folder of a Chroma (with chroma.sqlite3 in it), got {str(path)!r}"
        )
    client = open_client(path)
    names = sorted(entry if isinstance(entry, str) else entry.name for entry in client.list_collections())
    name = collection if collection is not None else names[0] if len(names) == 1 else None
    if name not in names:
        listed = ", ".join(names) or "none"
        raise ArgumentError(f"collection must be among those of {path} ({listed}), got {collection!r}")
    return _read(client.get_collection(name, embedding_function=None), str(path))


def _read(collection: Any, path: str) -> Iterator[StoredVector]:
    for offset in range(0, collection.count(), BATCH):
        page = collection.get(limit=BATCH, offset=offset, include=["documents", "metadatas", "embeddings"])
        rows = zip(page["ids"], page["documents"], page["metadatas"], page["embeddings"], strict=True)
        for id, text, metadata, vector in rows:
            if not text or not text.strip():
                continue
            if vector is None or not len(vector):
                raise StoreError(f"document {id!r} of the Chroma at {path} has no vector", path=path)
            yield StoredVector(Document(text, dict(metadata or {}), id=id), [float(x) for x in vector])


def flat(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert metadata to the types that Chroma holds: scalars stay, None is dropped, the rest becomes JSON."""
    return {
        key: value
        if isinstance(value, (str, int, float))
        else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in metadata.items()
        if value is not None
    }


def _name(document: Document, copies: Counter[str]) -> str:
    """Name a document without id by a hash of its text and metadata, numbered from the second copy on."""
    metadata = json.dumps(flat(document.metadata), sort_keys=True, ensure_ascii=False)
    content = f"{metadata}\n{document.page_content}"
    number = copies[content]
    copies[content] += 1
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{content}\n{number}" if number else content))
