"""How is a Chroma opened, filled and read, with nothing sent to anybody?"""

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
from sleuth.types import Document
from sleuth.vector_store.retriever import query_vector, recorded_embedder

if TYPE_CHECKING:
    from langchain_chroma import Chroma

BATCH = 500


class ChromaStore:
    """A collection of an embedded Chroma.

    Args:
        path: its folder; None for one in memory.
        collection: its name; made where it is missing.
        embedder: makes the vectors of what is added; its name is kept with a new collection.

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
        made = recorded_embedder(self.store)
        if made not in ("", fingerprint):
            raise EmbedderMismatchError(
                f"embedder must be {made!r}, with which the collection {collection!r} was made, "
                f"got {fingerprint!r}; to change it, add the documents to a new collection",
                path=str(path or ""),
            )

    def add(self, documents: Iterable[Document]) -> list[str]:
        """Adds documents, in place of those with the same id; returns their ids.

        A document without an id is named by its text and metadata, so that adding it again changes nothing; equal ones
        are numbered, so that each is kept. A document is kept whole: cut long ones first. Metadata that Chroma cannot
        hold (nested values) become JSON.
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
    """A client of an embedded Chroma that reports nothing to anybody."""
    try:
        import chromadb
        from chromadb.config import Settings
    except ImportError as error:
        raise MissingPackageError("chromadb", "chroma", "a Chroma vector store") from error
    if path is None:
        return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


def read_chroma(path: str | Path, collection: str | None = None) -> Iterator[StoredVector]:
    """All documents of a collection with their vectors, in its order. Documents without text are left out.

    Args:
        path: the folder of an embedded Chroma; it must exist.
        collection: its name; may be left out where there is one.

    Raises:
        ArgumentError: no Chroma at `path`, or no collection of this name; lists those there are.
        StoreError: a document without its vector.
    """
    if not (Path(path) / "chroma.sqlite3").is_file():
        raise ArgumentError(
            f"path must be the folder of a Chroma (with chroma.sqlite3 in it), got {str(path)!r}"
        )
    client = open_client(path)
    names = sorted(entry if isinstance(entry, str) else entry.name for entry in client.list_collections())
    wanted = collection if collection is not None else names[0] if len(names) == 1 else None
    if wanted not in names:
        listed = ", ".join(names) or "none"
        raise ArgumentError(f"collection must be among those of {path} ({listed}), got {collection!r}")
    return _read(client.get_collection(wanted, embedding_function=None), str(path))


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
    """Metadata as Chroma holds them: scalars as they are, None left out, the rest as JSON."""
    return {
        key: value
        if isinstance(value, (str, int, float))
        else json.dumps(value, ensure_ascii=False, default=str)
        for key, value in metadata.items()
        if value is not None
    }


def _name(document: Document, copies: Counter[str]) -> str:
    """A name for a document without id: the same for the same text and metadata, and numbered from the second on."""
    metadata = json.dumps(flat(document.metadata), sort_keys=True, ensure_ascii=False)
    content = f"{metadata}\n{document.page_content}"
    number = copies[content]
    copies[content] += 1
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{content}\n{number}" if number else content))
