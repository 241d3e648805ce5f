"""Reads the documents of a Chroma with their vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sleuth.errors import ArgumentError, StoreError
from sleuth.plugins.importers.stored import StoredVector, StoredVectors, chosen_name
from sleuth.types import Document
from sleuth.vector_store import BATCH, open_client


def read_chroma(path: str | Path, collection: str | None = None) -> StoredVectors:
    """Return all documents of a collection with their vectors, in its order.

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
    name = chosen_name("collection", collection, names, str(path))
    source = client.get_collection(name, embedding_function=None)
    return StoredVectors(f"{path}/{name}", _read(source, str(path)), source.count())


def _read(collection: Any, path: str) -> Iterator[StoredVector]:
    for offset in range(0, collection.count(), BATCH):
        page = collection.get(limit=BATCH, offset=offset, include=["documents", "metadatas", "embeddings"])
        rows = zip(page["ids"], page["documents"], page["metadatas"], page["embeddings"], strict=True)
        for id, text, metadata, vector in rows:
            if vector is None or not len(vector):
                raise StoreError(f"document {id!r} of the Chroma at {path} has no vector", path=path)
            yield StoredVector(Document(text or "", dict(metadata or {}), id=id), vector)
