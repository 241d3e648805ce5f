"""Fuses the rankings of the legs of a code search, by reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from sleuth.compose import RANK_CONSTANT, Pool, fuse_hits
from sleuth.errors import ArgumentError
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.search.vectors import EmbeddingProvider
    from sleuth.code.snapshots.snapshot import Snapshot

_CHUNK: Final = (1 << 32) - 1
"""The bits of a key that number a chunk in its file; the file is above them."""
LEGS: Final = ("keyword", "vector")
LITTLE: Final = 0.001
"""A weight of the ranks of vectors up to which words alone order what they find."""
OWN_WEIGHT: Final = 0.25
"""Of the ranks of vectors, where an embedder has no `code_weight` (docs/code.md has the table)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk, ranked: position of its file, its place in it, a score in [0, 1] and why."""

    file: int
    chunk: int
    score: float
    explanation: Explanation


def read_weights(weights: Mapping[str, float] | str | None) -> dict[str, float]:
    """Return the weights of legs that a mapping or a text such as "keyword=1,vector=0.25" names.

    Raises:
        ArgumentError: an unknown leg, or a weight that is not a number of 0 or more.
    """
    values: Mapping[str, Any] | str = {} if weights is None else weights
    if isinstance(values, str):
        parts = (part.partition("=") for part in values.split(","))
        values = {name.strip(): _number(value) for name, _, value in parts}
    if not isinstance(values, Mapping):
        raise ArgumentError(f"weights must be a mapping of legs to numbers, got {weights!r}")
    for name, value in values.items():
        if name not in LEGS:
            raise ArgumentError(f"weights must be of {', '.join(LEGS)}, got {name!r}")
        if not _is_weight(value):
            raise ArgumentError(f"weights[{name!r}] must be a number of 0 or more, got {value!r}")
    return dict(values)


def weights_of(
    provider: EmbeddingProvider | None, *choices: Mapping[str, float] | str | None
) -> Mapping[str, float]:
    """Return the weight of each leg: what was chosen, or else 1 for words and the embedder's `code_weight` for vectors.

    Args:
        choices: later ones count more.

    Raises:
        ArgumentError: as `read_weights`; or no weight is above 0.
    """
    weights = {"keyword": 1.0, "vector": float(getattr(provider, "code_weight", OWN_WEIGHT))}
    for choice in choices:
        weights |= read_weights(choice)
    if not any(weights.values()):
        raise ArgumentError(f"weights must have one above 0, got {weights!r}")
    return weights


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _is_weight(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < math.inf


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

    fused = fuse_hits(pools, {name: weights[name] * scale for name in counting}, "rrf", order=order)
    scored = enumerate(zip(fused.keys.tolist(), fused.scores.tolist(), strict=True))
    return [
        Piece(
            key >> 32,
            key & _CHUNK,
            score,
            fused.explain(i, {name: some[key] for name, some in reasons.items() if key in some}),
        )
        for i, (key, score) in scored
    ]


def ordered(snapshot: Snapshot, pieces: Sequence[Piece]) -> list[Piece]:
    """Best first; equal scores by path and line."""
    return sorted(pieces, key=lambda hit: (-hit.score, snapshot.files[hit.file].path, hit.chunk))
