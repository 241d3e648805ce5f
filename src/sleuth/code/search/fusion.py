"""Fuses the rankings of the legs of a code search, by reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Final

from sleuth.errors import ArgumentError
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

RANK_CONSTANT: Final = 60
LEG_WEIGHTS: Final[Mapping[str, float]] = {"keyword": 1.0, "vector": 0.001}
"""Of reciprocal ranks. In a hybrid search the keyword leg already counts meaning among its signals, which measured
better than ranks do; what the vector leg alone finds comes after what both find (docs/code.md)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk, ranked: position of its file, its place in it, a score in [0, 1] and why."""

    file: int
    chunk: int
    score: float
    explanation: Explanation


def check_weights(weights: Mapping[str, float] | None) -> Mapping[str, float]:
    """Return the weight of each leg; those that are left out are the measured ones.

    Raises:
        ArgumentError: an unknown leg, a weight that is not a number of 0 or more, or no weight above 0.
    """
    if weights is None:
        return LEG_WEIGHTS
    if not isinstance(weights, Mapping):
        raise ArgumentError(f"weights must be a mapping of legs to numbers, got {weights!r}")
    for name, value in weights.items():
        if name not in LEG_WEIGHTS:
            raise ArgumentError(f"weights must be of {', '.join(LEG_WEIGHTS)}, got {name!r}")
        if not _is_weight(value):
            raise ArgumentError(f"weights[{name!r}] must be a number of 0 or more, got {value!r}")
    chosen = {**LEG_WEIGHTS, **weights}
    if not any(chosen.values()):
        raise ArgumentError(f"weights must have one above 0, got {dict(weights)!r}")
    return chosen


def _is_weight(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) < math.inf


def fuse(
    snapshot: Snapshot, answers: Mapping[str, Sequence[Piece]], weights: Mapping[str, float] = LEG_WEIGHTS
) -> list[Piece]:
    """Fuse by reciprocal rank with a weight per leg, scaled so that the first of every leg has 1.

    A leg of weight 0 does not count, and what it alone found is left out.
    """
    total = sum(weights[name] for name in answers) / (RANK_CONSTANT + 1)
    parts: dict[tuple[int, int], list[Explanation]] = {}
    for name, pieces in answers.items():
        for rank, hit in enumerate(pieces if weights[name] else (), 1):
            value = weights[name] / (RANK_CONSTANT + rank) / total
            facts: dict[str, float | int | str] = {"rank": rank, "score": hit.score, "weight": weights[name]}
            formula = "weight / (60 + rank), of all legs' first"
            parts.setdefault((hit.file, hit.chunk), []).append(
                Explanation(name, value, formula, facts, (hit.explanation,))
            )
    fused = [
        Piece(
            file,
            chunk,
            sum(p.value for p in why),
            Explanation("hybrid", sum(p.value for p in why), "sum", {}, tuple(why)),
        )
        for (file, chunk), why in parts.items()
    ]
    return ordered(snapshot, fused)


def ordered(snapshot: Snapshot, pieces: Sequence[Piece]) -> list[Piece]:
    """Best first; equal scores by path and line."""
    return sorted(pieces, key=lambda hit: (-hit.score, snapshot.files[hit.file].path, hit.chunk))
