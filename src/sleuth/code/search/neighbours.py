"""Pieces of code that are near another piece in meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sleuth.arguments import check_count
from sleuth.code.search.history import places_named
from sleuth.code.search.vectors import chunk_vectors
from sleuth.code.snapshots.snapshot import PlainValues, Snapshot
from sleuth.errors import ArgumentError

if TYPE_CHECKING:
    from sleuth.code.search.vectors import EmbeddingProvider


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
