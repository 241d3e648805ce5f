"""The vector leg of code search: what is near a query, or another piece of code, in meaning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_count
from sleuth.code.search.exact import places_named
from sleuth.code.search.fusion import Piece, ordered
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.errors import ArgumentError
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.filters import CodeFilter
    from sleuth.code.search.vectors import EmbeddingProvider

_NEAREST = 3_000


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
    from sleuth.code.search.query import title_of
    from sleuth.code.search.vectors import chunk_vectors, query_vector

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
    out = np.zeros(len(snapshot.files), np.float32)
    if not len(similar.scores):
        return out
    nearest = similar.nearest(_NEAREST)
    scores = similar.scores[nearest]
    low, high = (float(scores.min()), float(scores[0])) if len(scores) else (0.0, 0.0)
    low = low if len(scores) == min(_NEAREST, len(similar.scores)) else 0.0
    if high > 0:
        scaled = (scores - low) / (high - low) if high > low else np.ones_like(scores)
        np.maximum.at(out, similar.positions[nearest], scaled)
    return out


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
    if spot is None:
        raise ArgumentError(
            f"place must be a file, lines of it or a definition of the snapshot, got {place!r}"
        )
    from sleuth.code.search.vectors import chunk_vectors

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
