"""How do several rankings of the same things become one?

Pure functions over scores by key. A key is any int64 that names a thing in all pools alike; ties of the fused score
break by `order`. Sources: Fox and Shaw, "Combination of Multiple Searches", TREC-2 1994 (CombMNZ); Cormack, Clarke and
Büttcher, "Reciprocal Rank Fusion", SIGIR 2009; Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid
Retrieval", TOIS 2023 (why a convex combination of normalised scores beats reciprocal ranks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from sleuth.compose.union import union
from sleuth.errors import ArgumentError
from sleuth.types import Explanation

Method: TypeAlias = Literal["minmax", "zscore", "rrf", "max", "combmnz"]
Order: TypeAlias = Callable[[NDArray[np.int64]], Sequence[Any]]
"""What keys that tie are sorted by, such as their ids."""

RANK_CONSTANT = 60
FORMULAS: Mapping[str, str] = {
    "minmax": "sum over legs of weight * (score - least) / (greatest - least) of the leg's pool",
    "zscore": "sum over legs of weight * (score - least) / deviation of the leg's pool",
    "rrf": "sum over legs of weight / (rank_constant + rank)",
    "max": "greatest over legs of weight * score",
    "combmnz": "legs that found it * sum over legs of weight * (score - least) / (greatest - least)",
}


class Pool(Protocol):
    """What one leg found, best first, each key once: `Hits` of the store is one."""

    @property
    def keys(self) -> NDArray[np.int64]:
        """Shape (m,)."""
        ...

    @property
    def scores(self) -> NDArray[np.float32]:
        """Shape (m,), higher is better."""
        ...


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused ranking, best first, with what each leg gave to it.

    Attributes:
        keys: shape (m,), int64.
        scores: shape (m,), float64.
        legs: names, in the order of the rows of the arrays below.
        shares: shape (legs, m), float64: what each leg added; a column sums to its score, save for "combmnz", which
            multiplies the sum, and "max", which takes the greatest.
        ranks: shape (legs, m), int64: 1 for the leg's best; 0 where it did not find the key.
        raw: shape (legs, m), float64: the leg's own score; NaN where it did not find the key.
        weights: shape (legs,), float64.
        method, rank_constant: as asked for.
    """

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    legs: tuple[str, ...]
    shares: NDArray[np.float64]
    ranks: NDArray[np.int64]
    raw: NDArray[np.float64]
    weights: NDArray[np.float64]
    method: Method
    rank_constant: float

    def __len__(self) -> int:
        return len(self.keys)

    def explain(self, i: int, parts: Mapping[str, Explanation] | None = None) -> Explanation:
        """Why hit i has its score: a part per leg that found it, with its own explanation below where given."""
        told: list[Explanation] = []
        for leg, name in enumerate(self.legs):
            if not self.ranks[leg, i]:
                continue
            share, weight = float(self.shares[leg, i]), float(self.weights[leg])
            facts: dict[str, float | int | str] = {
                "rank": int(self.ranks[leg, i]),
                "score": float(self.raw[leg, i]),
                "normalised": share / weight if weight else 0.0,
                "weight": weight,
                "share": share,
            }
            below = (parts[name],) if parts and name in parts else ()
            told.append(Explanation(name, share, "weight * normalised", facts, below))
        facts = {"method": self.method, "legs": len(self.legs)}
        if self.method == "rrf":
            facts["rank_constant"] = self.rank_constant
        return Explanation("fusion", float(self.scores[i]), FORMULAS[self.method], facts, tuple(told))


def fuse_hits(
    hits_by_leg: Mapping[str, Pool],
    weights: Mapping[str, float] | None = None,
    method: Method = "minmax",
    k: int | None = None,
    *,
    rank_constant: float = RANK_CONSTANT,
    order: Order | None = None,
) -> Fused:
    """The best `k` of several pools, by a sum of what their legs say.

    Args:
        hits_by_leg: pools by the name of their leg.
        weights: by leg, 0 and more; 1 where not named.
        method: one of "minmax", "zscore", "rrf", "max", "combmnz"; see `FORMULAS`.
        k: None for all.
        rank_constant: above 0; of "rrf" alone.
        order: asked for the keys that tie among the best `k`, only; by key where None.

    Raises:
        ArgumentError: an unknown method or leg, or a number that breaks its rule.
    """
    legs = tuple(hits_by_leg)
    checked = _check(legs, weights, method, rank_constant)
    pools = [hits_by_leg[name] for name in legs]
    keys, places = union([np.asarray(pool.keys, np.int64) for pool in pools])
    shares = np.zeros((len(legs), len(keys)))
    for leg, (pool, place) in enumerate(zip(pools, places, strict=True)):
        shares[leg, place] = checked[leg] * normalise(pool.scores, method, rank_constant)
    scores = _combine(shares, places, method)
    best = best_places(keys, scores, len(keys) if k is None else min(k, len(keys)), order)
    ranks, raw = _trace(pools, places, len(keys), best)
    return Fused(keys[best], scores[best], legs, shares[:, best], ranks, raw, checked, method, rank_constant)


def normalise(
    scores: NDArray[Any], method: Method = "minmax", rank_constant: float = RANK_CONSTANT
) -> NDArray[np.float64]:
    """What a leg of weight 1 adds to each row of its pool, shape (m,); 0 is what it adds to all others.

    Min-max and z-scores of equal scores are 1: found is more than not found. z-scores are counted from the least of
    the pool instead of from the mean, which ranks alike and makes that 0.
    """
    given = np.asarray(scores, np.float64)
    if method == "rrf":
        return 1.0 / (rank_constant + np.arange(1, len(given) + 1, dtype=np.float64))
    if method == "max" or not len(given):
        return given
    least = given.min()
    scale = given.std() if method == "zscore" else given.max() - least
    scaled: NDArray[np.float64] = (given - least) / scale if scale > 0 else np.ones_like(given)
    return scaled


def _check(
    legs: Sequence[str], weights: Mapping[str, float] | None, method: Method, rank_constant: float
) -> NDArray[np.float64]:
    """Weights in the order of the legs, shape (legs,)."""
    if method not in get_args(Method):
        raise ArgumentError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if not 0 < rank_constant < math.inf:
        raise ArgumentError(f"rank_constant must be a number above 0, got {rank_constant!r}")
    for name, weight in (weights or {}).items():
        if name not in legs:
            raise ArgumentError(f"weights must name legs among {', '.join(legs)}, got {name!r}")
        if not 0 <= weight < math.inf:
            raise ArgumentError(f"weights[{name!r}] must be a number of 0 and more, got {weight!r}")
    return np.array([(weights or {}).get(name, 1.0) for name in legs], np.float64)


def _combine(
    shares: NDArray[np.float64], places: Sequence[NDArray[np.int64]], method: Method
) -> NDArray[np.float64]:
    """Scores of all keys, shape (m,), from what each leg adds, shape (legs, m)."""
    if method == "max":
        present = np.full(shares.shape, -np.inf)
        for leg, place in enumerate(places):
            present[leg, place] = shares[leg, place]
        greatest: NDArray[np.float64] = present.max(axis=0, initial=-np.inf)
        return greatest
    scores: NDArray[np.float64] = shares.sum(axis=0)
    if method == "combmnz":
        found = np.zeros(len(scores), np.int64)
        for place in places:
            found[place] += 1
        scores *= found
    return scores


def best_places(
    keys: NDArray[np.int64], scores: NDArray[np.float64], k: int, order: Order | None
) -> NDArray[np.int64]:
    """Places of the best `k` scores, best first, ties by `order`."""
    if k == 0:
        return np.zeros(0, np.int64)
    candidates = np.arange(len(scores))
    if k < len(scores):
        last = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates = np.flatnonzero(scores >= last)
    ranked = candidates[np.argsort(-scores[candidates], kind="stable")]
    values = scores[ranked]
    ties = np.flatnonzero(values[1:] == values[:-1]).tolist()
    while ties:
        start = end = ties.pop(0)
        while ties and ties[0] == end + 1:
            end = ties.pop(0)
        tied = ranked[start : end + 2]
        names = keys[tied] if order is None else order(keys[tied])
        ranked[start : end + 2] = tied[sorted(range(len(tied)), key=names.__getitem__)]
    return ranked[:k]


def _trace(
    pools: Sequence[Pool], places: Sequence[NDArray[np.int64]], n: int, best: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ranks and raw scores of the best, each of shape (legs, m)."""
    ranks = np.zeros((len(pools), len(best)), np.int64)
    raw = np.full((len(pools), len(best)), np.nan)
    for leg, (pool, place) in enumerate(zip(pools, places, strict=True)):
        rank = np.zeros(n, np.int64)
        rank[place] = np.arange(1, len(place) + 1)
        ranks[leg] = rank[best]
        found = np.flatnonzero(ranks[leg])
        raw[leg, found] = pool.scores[ranks[leg, found] - 1]
    return ranks, raw
