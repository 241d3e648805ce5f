"""Embeds chunks, once per file version and embedder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.lines import LineIndex
from sleuth.errors import EmbeddingError
from sleuth.vectors import as_vector, as_vectors, ask_embedder, unit

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

_BATCH = 512
_FILES = 200
"""Files whose vectors are committed together."""
_MAX_CHARACTERS = 4_000
_guard = threading.Lock()


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Text to vectors, as `sleuth.protocols.Embedder`; a provider without a fingerprint is known by its class."""

    def embed_query(self, text: str) -> Sequence[float] | NDArray[np.floating[Any]]:
        """Return one vector."""

    def embed_documents(
        self, texts: list[str]
    ) -> Sequence[Sequence[float]] | NDArray[np.floating[Any]] | Sequence[NDArray[np.floating[Any]]]:
        """Return one vector per text, in order."""


def fingerprint(provider: EmbeddingProvider) -> str:
    """Return the id of a provider's vectors, which differs between providers whose vectors differ."""
    identity = getattr(provider, "fingerprint", None) or getattr(provider, "model", None)
    return str(identity or f"{type(provider).__module__}.{type(provider).__qualname__}")


def chunk_vectors(
    snapshot: Snapshot, provider: EmbeddingProvider
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return vectors of all chunks of a snapshot; missing ones are made and cached.

    Returns:
        (positions of files, places of chunks in them, unit vectors), shapes (m,), (m,) and (m, dimension).
    """
    name = fingerprint(provider)
    with _guard:
        vectors = snapshot.vectors.get(name)
        if vectors is None:
            vectors = snapshot.vectors[name] = _load(snapshot, provider, name)
    return vectors


def _load(
    snapshot: Snapshot, provider: EmbeddingProvider, name: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    files = [(i, row) for i, row in enumerate(snapshot.files) if row.chunks]
    vectors_by_key = snapshot.storage.vectors(name, [row.key for _, row in files])
    missing = [row for _, row in files if row.key not in vectors_by_key]
    for fresh in _make(snapshot, provider, name, missing):
        vectors_by_key.update(fresh)
    if not files:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
    positions = np.repeat([i for i, _ in files], [row.chunks for _, row in files]).astype(np.int64)
    places = np.concatenate([np.arange(row.chunks) for _, row in files])
    matrix = np.concatenate([vectors_by_key[row.key] for _, row in files]).astype(np.float32)
    return positions, places, unit(matrix)


def embed_missing(
    snapshot: Snapshot, provider: EmbeddingProvider, progress: Callable[[int, int], None] | None = None
) -> None:
    """Make the vectors that a snapshot does not have yet, so that no search waits for them.

    Args:
        progress: called with the files done so far and in total; what it raises ends the call.
    """
    name, missing = fingerprint(provider), []
    files = [row for row in snapshot.files if row.chunks]
    for start in range(0, len(files), _FILES):
        batch = files[start : start + _FILES]
        vectors = snapshot.storage.vectors(name, [row.key for row in batch])
        missing += [row for row in batch if row.key not in vectors]
    count = 0
    for fresh in _make(snapshot, provider, name, missing):
        count += len(fresh)
        if progress is not None:
            progress(count, len(missing))


def _make(
    snapshot: Snapshot, provider: EmbeddingProvider, name: str, rows: Sequence[FileRow]
) -> Iterator[dict[int, NDArray[np.float16]]]:
    """Yield new vectors of files, by key, as soon as they are stored.

    Args:
        name: the fingerprint of the provider.
    """
    for start in range(0, len(rows), _FILES):
        batch = rows[start : start + _FILES]
        texts = [text for row in batch for text in texts_of(snapshot, row)]
        vectors: list[Any] = []
        for at in range(0, len(texts), _BATCH):
            vectors += list(ask_embedder(provider.embed_documents, texts[at : at + _BATCH], name))
        matrix = as_vectors(vectors, len(texts), name)
        fresh: dict[int, NDArray[np.float16]] = {}
        for row in batch:
            fresh[row.key], matrix = unit(matrix[: row.chunks]).astype(np.float16), matrix[row.chunks :]
        snapshot.storage.add_vectors(name, fresh)
        snapshot.forget_files()
        yield fresh


def texts_of(snapshot: Snapshot, row: FileRow) -> list[str]:
    """Return the text to embed of each chunk: its place and name, then the code."""
    detail, lines = snapshot.detail(row), LineIndex(snapshot.source(row))
    out = []
    for chunk in detail.chunks:
        symbol = detail.symbols[chunk.symbol] if chunk.symbol >= 0 else None
        head = f"{row.path} {symbol.qualified} {symbol.doc}" if symbol else row.path
        out.append(f"{head}\n{lines.cut(chunk.start, chunk.end)}"[:_MAX_CHARACTERS])
    return out


def query_vector(provider: EmbeddingProvider, query: str, dimension: int) -> NDArray[np.float32]:
    """Return the unit vector of a query, shape (dimension,).

    Raises:
        EmbeddingError: the provider failed, gave another length than for the chunks, or numbers that are not finite.
    """
    name = fingerprint(provider)
    vector = as_vector(ask_embedder(provider.embed_query, query, name), name)
    if vector.shape != (dimension,):
        raise EmbeddingError(
            f"the embedder gave {vector.shape} for a query where chunks have {dimension} numbers",
            service=name,
        )
    scaled: NDArray[np.float32] = unit(vector[None, :])[0]
    return scaled
