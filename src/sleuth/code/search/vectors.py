"""The vector leg of code search: embeds chunks, and finds what is near a query, or another piece of code, in meaning.

Each chunk is embedded once per file version and embedder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.code.parsing.lines import LineIndex
from sleuth.code.search.exact import places_named
from sleuth.code.search.fusion import Piece, ordered
from sleuth.code.search.query import title_of
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.errors import ArgumentError, EmbeddingError
from sleuth.types import Explanation
from sleuth.vectors import as_vector, as_vectors, ask_embedder, unit

if TYPE_CHECKING:
    from sleuth.code.search.filters import CodeFilter
    from sleuth.code.snapshots.record import FileRow

_BATCH = 512
_FILES = 200
"""Files whose vectors are committed together."""
_MAX_CHARACTERS = 4_000
_NEAREST = 3_000
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
    missing_rows = [row for _, row in files if row.key not in vectors_by_key]
    for fresh in _make(snapshot, provider, name, missing_rows):
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
    name, missing_rows = fingerprint(provider), []
    files = [row for row in snapshot.files if row.chunks]
    for start in range(0, len(files), _FILES):
        batch = files[start : start + _FILES]
        vectors = snapshot.storage.vectors(name, [row.key for row in batch])
        missing_rows += [row for row in batch if row.key not in vectors]
    count = 0
    for fresh in _make(snapshot, provider, name, missing_rows):
        count += len(fresh)
        if progress is not None:
            progress(count, len(missing_rows))


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
        new_vectors: dict[int, NDArray[np.float16]] = {}
        for row in batch:
            new_vectors[row.key], matrix = unit(matrix[: row.chunks]).astype(np.float16), matrix[row.chunks :]
        snapshot.storage.add_vectors(name, new_vectors)
        snapshot.forget_files()
        yield new_vectors


def texts_of(snapshot: Snapshot, row: FileRow) -> list[str]:
    """Return the text to embed of each chunk: its place and name, then the code."""
    detail, lines = snapshot.detail(row), LineIndex(snapshot.source(row))
    texts = []
    for chunk in detail.chunks:
        symbol = detail.symbols[chunk.symbol] if chunk.symbol >= 0 else None
        head = f"{row.path} {symbol.qualified} {symbol.doc}" if symbol else row.path
        texts.append(f"{head}\n{lines.cut(chunk.start, chunk.end)}"[:_MAX_CHARACTERS])
    return texts


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


@dataclass(frozen=True, slots=True)
class Similar:
    """Chunks and their cosine with a query, 0 at least: positions of files, places in them, scores; shapes (m,).

    Attributes:
        unrelated: the cosine that code without anything in common with the query reaches; 1 for gibberish.
    """

    positions: NDArray[np.int64]
    places: NDArray[np.int64]
    scores: NDArray[np.float32]
    unrelated: float = 1.0

    @property
    def is_related(self) -> bool:
        """Whether any chunk has something in common with the query, as far as the embedder can tell."""
        return len(self.scores) > 0 and float(self.scores.max()) > self.unrelated

    def nearest(self, count: int) -> NDArray[np.intp]:
        """Return the places of the best `count` scores above 0, best first, equal ones in order; shape (n,)."""
        scores, threshold = self.scores, np.float32(0)
        if count < len(scores):
            threshold = np.partition(scores, len(scores) - count)[len(scores) - count]
        places = np.flatnonzero((scores >= threshold) & (scores > 0))
        return places[np.argsort(-scores[places], kind="stable")][:count]

    def share_of(self, file: int, chunks: Iterable[int]) -> float:
        """Return how similar the nearest of some chunks of a file is, counted from unrelated code, 0 to 1."""
        first = int(np.searchsorted(self.positions, file))
        cosine = max((float(self.scores[first + chunk]) for chunk in chunks), default=0.0)
        return 0.0 if cosine <= self.unrelated else (cosine - self.unrelated) / (1 - self.unrelated)


def similar_chunks(
    snapshot: Snapshot, query: str, allowed: CodeFilter, provider: EmbeddingProvider | None
) -> Similar:
    """Cosines of the query's title and of all chunks that may answer."""
    if provider is None:
        raise ArgumentError("embedding_provider must be given for vectors, got None")
    positions, places, matrix = chunk_vectors(snapshot, provider)
    if not len(matrix):
        return Similar(positions, places, np.zeros(0, np.float32))
    vector = query_vector(provider, title_of(query), matrix.shape[1])
    # row by row: the threads of a product of matrices cost ten times its work
    scores = np.clip(np.vecdot(matrix, vector), 0.0, 1.0)
    if allowed.files is not None:
        scores = np.where(allowed.files[positions], scores, np.float32(0))
    has_meaning = getattr(provider, "has_meaning", None)
    is_legible = has_meaning is None or bool(has_meaning(query))
    return Similar(positions, places, scores, getattr(provider, "unrelated", 0.0) if is_legible else 1.0)


def nearest_pieces(snapshot: Snapshot, similar: Similar, pool: int, allowed: CodeFilter) -> list[Piece]:
    """Return the chunks nearest in meaning."""
    pieces: list[Piece] = []
    for at in similar.nearest(pool if allowed.accepts is None else len(similar.scores)).tolist():
        if len(pieces) >= pool:
            break
        score = float(similar.scores[at])
        file, chunk = int(similar.positions[at]), int(similar.places[at])
        if allowed.allows(file, chunk):
            why = Explanation("vector", score, "cosine of query and chunk, 0 at least")
            pieces.append(Piece(file, chunk, score, why))
    return ordered(snapshot, pieces)


def similar_files(snapshot: Snapshot, similar: Similar) -> NDArray[np.float32]:
    """Return the best cosine of each file among the nearest chunks, from 0 for the worst of those to 1 for the best."""
    shares = np.zeros(len(snapshot.files), np.float32)
    if not len(similar.scores):
        return shares
    nearest = similar.nearest(_NEAREST)
    scores = similar.scores[nearest]
    low, high = (float(scores.min()), float(scores[0])) if len(scores) else (0.0, 0.0)
    low = low if len(scores) == min(_NEAREST, len(similar.scores)) else 0.0
    if high > 0:
        scaled = (scores - low) / (high - low) if high > low else np.ones_like(scores)
        np.maximum.at(shares, similar.positions[nearest], scaled)
    return shares


@dataclass(frozen=True, slots=True)
class SimilarPiece(PlainValues):
    """A piece of code.

    Attributes:
        symbol: qualified name of its definition; "" for lines between definitions.
        score: cosine with the piece that was asked about, in [-1, 1].
    """

    file_path: str
    start_line: int
    end_line: int
    symbol: str
    score: float


def similar_pieces(
    snapshot: Snapshot, place: str, provider: EmbeddingProvider, limit: int = 10
) -> list[SimilarPiece]:
    """Return the pieces of code nearest in meaning to a place, without the place itself; ties by path and line.

    Args:
        place: a path with lines (`src/app.py:10-40`), a path, or the name of a definition.

    Raises:
        ArgumentError: nothing is there.
    """
    check_count(limit, "limit")
    spot = next(iter(places_named(snapshot, place)), None)
    if spot is None or (spot.lines is not None and min(spot.lines) > spot.file.lines):
        raise ArgumentError(
            f"place must be a file, lines of it or a definition of the snapshot, got {place!r}"
        )
    file = snapshot.by_path[spot.file.path]
    first, last_line = spot.lines or (1, spot.file.lines)
    positions, places, matrix = chunk_vectors(snapshot, provider)
    chunks = snapshot.detail(spot.file).chunks
    own_chunks = {i for i, chunk in enumerate(chunks) if chunk.start <= last_line and chunk.end >= first}
    is_own = (positions == file) & np.isin(places, list(own_chunks))
    if not is_own.any():
        return []
    mean = matrix[is_own].mean(axis=0)
    scores = matrix @ (mean / (np.linalg.norm(mean) or 1.0))
    pieces: list[SimilarPiece] = []
    for at in np.lexsort((places, positions, -scores)).tolist():
        if len(pieces) == limit:
            break
        if not is_own[at]:
            row = snapshot.files[int(positions[at])]
            detail = snapshot.detail(row)
            chunk = detail.chunks[int(places[at])]
            symbol = detail.symbols[chunk.symbol].qualified if chunk.symbol >= 0 else ""
            pieces.append(SimilarPiece(row.path, chunk.start, chunk.end, symbol, float(scores[at])))
    return pieces
