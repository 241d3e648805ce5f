"""Opens, fills and reads an embedded Chroma with telemetry off."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.arguments import check_name
from sleuth.errors import ArgumentError, EmbedderMismatchError, requires
from sleuth.logs import logger_of
from sleuth.protocols import Embedder
from sleuth.remote import async_twin
from sleuth.text.chunkers import Chunker
from sleuth.types import Document
from sleuth.vector_store.retriever import query_vector, recorded_embedder
from sleuth.vector_store.rows import BATCH

if TYPE_CHECKING:
    from langchain_chroma import Chroma

logger = logger_of("vector_store")

DOCUMENT_KEY = "document_id"
"""Metadata key of passages: the id of the document that they were cut from."""


class ChromaStore:
    """A collection of an embedded Chroma.

    Args:
        path: its folder; None for one in memory.
        collection: its name; a missing one is created.
        embedder: computes the vectors of added documents; a new collection records its name. An `Embeddings` of
            LangChain is named by its class and its `model` or `model_name`.

    Raises:
        ArgumentError: an embedder that does not name its model.
        MissingPackageError: `langchain-chroma` is not installed.
        EmbedderMismatchError: the collection was made with another embedder; names both.

    Attributes:
        store: LangChain's `Chroma`, telemetry off.
    """

    def __init__(
        self, path: str | Path | None = None, collection: str = "sleuth", *, embedder: Embedder
    ) -> None:
        with requires("langchain-chroma", "chroma", "a Chroma vector store"):
            from chromadb.errors import InvalidArgumentError
            from langchain_chroma import Chroma
        self.embedder = embedder
        fingerprint = fingerprint_of(embedder)
        try:
            self.store: Chroma = Chroma(
                collection_name=check_name(collection, "collection"),
                client=open_client(path),
                embedding_function=_Lists(embedder, fingerprint),  # type: ignore[arg-type]
                collection_metadata={"embedder": fingerprint, "hnsw:space": "cosine"},
            )
        except InvalidArgumentError as error:
            raise ArgumentError(f"collection must suit Chroma, got {collection!r}: {error}") from error
        recorded = recorded_embedder(self.store)
        if recorded not in ("", fingerprint):
            raise EmbedderMismatchError(
                f"embedder must be {recorded!r}, with which the collection {collection!r} was made, "
                f"got {fingerprint!r}; to change it, add the documents to a new collection",
                path=str(path or ""),
            )

    def add(self, documents: Iterable[Document]) -> list[str]:
        """Add documents and return the ids of their passages; a document replaces the stored one with the same id.

        A document without an id gets one from its text and metadata, so that adding it again changes nothing; equal
        ones are numbered, so that each is stored. A document of one passage keeps its id. A longer one is cut as in an
        index: its passages are `ID#0`, `ID#1` and so on, with `document_id` in their metadata. Metadata that Chroma
        cannot hold (nested values) become JSON.

        Args:
            documents: also what `sleuth.ingest.read` yields; files that it could not read are logged.

        Raises:
            ArgumentError: something else than documents.
            EmbeddingError: the embedder failed, or gave something else than one finite vector per text. Batches
                before are stored.
        """
        ids: list[str] = []
        copies: Counter[str] = Counter()
        waiting = _documents(documents)
        while batch := list(islice(waiting, BATCH)):
            names = [document.id or _name(document, copies) for document in batch]
            newest = dict(zip(names, batch, strict=True))  # Chroma refuses a batch that holds an id twice
            passages = {name: _passages(document, name) for name, document in newest.items()}
            passage_by_id = {id: passage for page in passages.values() for id, passage in page.items()}
            for start in range(0, len(passage_by_id), BATCH):
                page = list(passage_by_id)[start : start + BATCH]
                self.store.add_texts(
                    [passage_by_id[id].page_content for id in page],
                    metadatas=[passage_by_id[id].metadata for id in page],
                    ids=page,
                )
            # What the store holds of these documents, but the added passages.
            old_ids = self.store.get(ids=list(newest), include=[])["ids"]
            of_these: Any = {DOCUMENT_KEY: {"$in": list(newest)}}
            parts = self.store.get(where=of_these, include=["metadatas"])
            for id, metadata in zip(parts["ids"], parts["metadatas"], strict=True):
                if id.startswith(f"{metadata[DOCUMENT_KEY]}#"):
                    old_ids.append(id)
            if old_ids := [id for id in old_ids if id not in passage_by_id]:
                self.store.delete(ids=old_ids)
            ids.extend(id for name in names for id in passages[name])
        return ids

    aadd = async_twin(add)


def _documents(records: Iterable[Any]) -> Iterator[Document]:
    """Yield the documents among the records of `sleuth.ingest.read`, and log the files that it skipped."""
    for record in records:
        if isinstance(record, Document):
            yield record
        elif not isinstance(getattr(record, "source", None), str):
            raise ArgumentError(f"documents must be an iterable of Document, got {record!r} in it")
        elif reason := getattr(record, "reason", ""):
            logger.warning("%s was not added: %s", record.source, reason)


def _passages(document: Document, name: str) -> dict[str, Document]:
    """Cut a document into passages by id, with metadata that Chroma holds; a short one is its only passage."""
    chunks = Chunker().split(document)
    if len(chunks) < 2:
        return {name: Document(document.page_content, flat(document.metadata))}
    passages = {}
    for number, chunk in enumerate(chunks):
        page = {} if chunk.page is None else {"page": chunk.page}
        metadata = {**document.metadata, **chunk.metadata, **page, DOCUMENT_KEY: name}
        passages[f"{name}#{number}"] = Document(chunk.text, flat(metadata))
    return passages


def fingerprint_of(embedder: Any) -> str:
    """Return what names an embedder: its own fingerprint, or class and model of an `Embeddings` of LangChain."""
    fingerprint = getattr(embedder, "fingerprint", None)
    if isinstance(fingerprint, str) and fingerprint:
        return fingerprint
    kind = type(embedder).__name__
    models = (getattr(embedder, key, None) for key in ("model", "model_name"))
    model = next((name for name in models if isinstance(name, str) and name), None)
    if model is None or not hasattr(embedder, "embed_documents"):
        raise ArgumentError(
            "embedder must have embed_query, embed_documents and a fingerprint, a str that names its model (or a "
            f"`model` or `model_name`, as embeddings of LangChain have), got {kind} without one"
        )
    return f"{kind}:{model}"


class _Lists:
    """An embedder whose vectors are checked and are lists, which is what LangChain expects."""

    def __init__(self, embedder: Embedder, name: str) -> None:
        self._embedder, self._name = embedder, name

    def embed_query(self, text: str) -> list[float]:
        return query_vector(self._embedder, text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        from sleuth.vectors import as_vectors, ask_embedder

        vectors = ask_embedder(self._embedder.embed_documents, texts, self._name)
        as_vectors(vectors, len(texts), self._name)
        return [[float(x) for x in row] for row in vectors]


def open_client(path: str | Path | None) -> Any:
    """Return a client of an embedded Chroma with telemetry off."""
    with requires("chromadb", "chroma", "a Chroma vector store"):
        import chromadb
        from chromadb.config import Settings
    if path is None:
        return chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    return chromadb.PersistentClient(str(path), settings=Settings(anonymized_telemetry=False))


def flat(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Convert metadata to the types that Chroma holds: scalars stay, null values are dropped, the rest becomes JSON."""
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
