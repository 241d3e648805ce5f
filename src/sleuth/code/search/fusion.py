"""Fuses the rankings of the legs of a code search, by reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.compose.fuse import Pool, fuse_hits
from sleuth.compose.methods import RANK_CONSTANT
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

_CHUNK: Final = (1 << 32) - 1
"""The bits of a key that number a chunk in its file; the file is above them."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Chunks of a file, ranked: its position, the place of the first, a score in [0, 1], why, and how many they are."""

    file: int
    chunk: int
    score: float
    explanation: Explanation
    parts: int = 1

    @property
    def chunks(self) -> range:
        """The places in the file."""
        return range(self.chunk, self.chunk + self.parts)


def fuse(
    snapshot: Snapshot, answers: Mapping[str, Sequence[Piece]], weights: Mapping[str, float]
) -> list[Piece]:
    """Fuse by reciprocal rank with a weight per leg, scaled so that the first of every leg has 1.

    A leg of weight 0 does not count, and what it alone found is left out.
    """
    counting = {name: pieces for name, pieces in answers.items() if weights[name]}
    scale = (RANK_CONSTANT + 1) / sum(weights[name] for name in counting)
    pools = {
        name: Pool(
            np.array([piece.file << 32 | piece.chunk for piece in pieces], np.int64),
            np.array([piece.score for piece in pieces], np.float64),
        )
        for name, pieces in counting.items()
    }
    reasons = {
        name: dict(zip(pools[name].keys.tolist(), (piece.explanation for piece in pieces), strict=True))
        for name, pieces in counting.items()
    }

    def order(keys: NDArray[np.int64]) -> list[tuple[str, int]]:
        return [(snapshot.files[key >> 32].path, key & _CHUNK) for key in keys.tolist()]

    fusion = fuse_hits(pools, {name: weights[name] * scale for name in counting}, "rrf", order=order)
    scored = enumerate(zip(fusion.keys.tolist(), fusion.scores.tolist(), strict=True))
    return [
        Piece(
            key >> 32,
            key & _CHUNK,
            score,
            fusion.explain(i, {name: by_key[key] for name, by_key in reasons.items() if key in by_key}),
        )
        for i, (key, score) in scored
    ]


def ordered(snapshot: Snapshot, pieces: Sequence[Piece]) -> list[Piece]:
    """Best first; equal scores by path and line."""
    return sorted(pieces, key=lambda hit: (-hit.score, snapshot.files[hit.file].path, hit.chunk))
