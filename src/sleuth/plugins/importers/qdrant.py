"""Reads a collection of Qdrant: a folder of its local mode, or a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sleuth.errors import ArgumentError, StoreError, requires
from sleuth.plugins.importers.stored import StoredVector, StoredVectors, chosen_name
from sleuth.vector_store import BATCH, row_document

_ID = "qdrant id"


def read_qdrant(
    place: str | Path,
    collection: str | None = None,
    *,
    api_key: str | None = None,
    text_field: str = "page_content",
    vector: str = "",
) -> StoredVectors:
    """Return the points of a collection.

    Args:
        place: a folder of local mode, or the `http://` or `https://` address of a server.
        collection: its name; may be left out where there is one.
        api_key: of a server.
        text_field: key of the text in the payload. Further keys are metadata; those of an object `metadata`, too.
        vector: name of the vector, where points have several.

    Raises:
        ArgumentError: no such folder, collection or vector; lists the names.
        StoreError: the server does not answer.
        MissingPackageError: qdrant-client is not installed.
    """
    with requires("qdrant-client", "imports", "reading Qdrant"):
        from qdrant_client import QdrantClient
    name = str(place)
    is_remote = name.startswith(("http://", "https://"))
    if not is_remote and not (Path(place) / "meta.json").is_file():
        raise ArgumentError(
            f"place must be a folder of Qdrant (with meta.json in it) or an address, got {name!r}"
        )
    with ExitStack() as cleanup:
        with _answering(name):
            client = (
                QdrantClient(url=name, api_key=api_key, check_compatibility=False)
                if is_remote
                else QdrantClient(path=name)
            )
            cleanup.callback(client.close)
            names = sorted(description.name for description in client.get_collections().collections)
        choice = chosen_name("collection", collection, names, name)
        with _answering(name):
            count = client.count(choice, exact=True).count
        cleanup.pop_all()  # the rows close the client
    return StoredVectors(f"{name}/{choice}", _rows(client, choice, text_field, vector), count)


@contextmanager
def _answering(name: str) -> Iterator[None]:
    """Raise failures of the client, which are exceptions of several packages, as a StoreError."""
    try:
        yield
    except Exception as error:
        raise StoreError(f"Qdrant at {name} does not answer: {error}", path=name) from error


def _rows(client: Any, collection: str, text_field: str, name: str) -> Iterator[StoredVector]:
    offset = None
    try:
        while True:
            points, offset = client.scroll(
                collection, limit=BATCH, offset=offset, with_payload=True, with_vectors=True
            )
            for point in points:
                row = {**(point.payload or {}), _ID: point.id}
                document = row_document(row, f"point {point.id} of {collection}", text_field, _ID)
                yield StoredVector(document, _vector(point, name))
            if offset is None:
                return
    finally:
        client.close()


def _vector(point: Any, name: str) -> Any:
    """Return the vector of a point.

    Raises:
        ArgumentError: there are several vectors, and no name chooses one.
    """
    vectors = point.vector
    if not isinstance(vectors, Mapping):
        return vectors
    dense = {key: value for key, value in vectors.items() if isinstance(value, list)}
    if not name and len(dense) == 1:
        return next(iter(dense.values()))
    if name not in dense:
        raise ArgumentError(f"vector must be among {', '.join(sorted(dense)) or 'none'}, got {name!r}")
    return dense[name]
