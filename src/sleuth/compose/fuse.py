"""Fusion of rankings: pure functions over scores by key.

A key is any int64 that names the same item in all pools; `order` breaks ties of the fused score.

Sources: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009; Bruch, Gai and Ingber, "An Analysis of
Fusion Functions for Hybrid Retrieval", TOIS 2023 (why a convex combination of scores beats reciprocal ranks).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.arguments import check_positive, check_weight
from sleuth.compose.methods import RANK_CONSTANT, Method
from sleuth.compose.pools import best, normalise, unite
from sleuth.errors import ArgumentError
from sleuth.types import Explanation

Order: TypeAlias = Callable[[NDArray[np.int64]], Sequence[Any]]
"""Tie-break order of keys: returns a sortable value for each, such as its id."""

FORMULAS: Mapping[str, str] = {
    "minmax": "sum over legs of weight * (score - least) / (greatest - least) of the leg's pool",
    "rrf": "sum over legs of weight / (rank_constant + rank)",
    "max": "greatest over legs of weight * score",
}


class RankedKeys(Protocol):
    """The hits of one leg, best first, each key once. `Hits` of the store is one."""

    @property
    def keys(self) -> NDArray[np.int64]:
        """Shape (m,)."""
        ...

    @property
    def scores(self) -> NDArray[np.floating[Any]]:
        """Shape (m,), higher is better."""
        ...


class Pool(NamedTuple):
    """`RankedKeys` from arrays: keys of shape (m,), int64, and their scores, float64."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]


@dataclass(frozen=True)
class Fused:
    """A fused ranking, best first, with the share of each leg.

    Attributes:
        keys: shape (m,), int64.
        scores: shape (m,), float64.
        legs: names, in the order of the rows of the arrays below.
        weights: shape (legs,), float64.
        method, rank_constant: the arguments of `fuse_hits`.
        pools: one for each leg.
    """

    keys: NDArray[np.int64]
    scores: NDArray[np.float64]
    legs: tuple[str, ...]
    weights: NDArray[np.float64]
    method: Method
    rank_constant: float
    pools: tuple[RankedKeys, ...]

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """Shape (legs, m): 1 for the leg's best; 0 where it did not find the key."""
        places = [{key: i for i, key in enumerate(pool.keys.tolist(), 1)} for pool in self.pools]
        ranks = [[place.get(key, 0) for key in self.keys.tolist()] for place in places]
        return np.array(ranks, np.int64).reshape(len(self.legs), len(self.keys))

    @cached_property
    def normalised(self) -> list[NDArray[np.float64]]:
        """For each pool, what its leg would add to each of its hits with a weight of 1, shape (n,)."""
        return [
            normalise(pool.scores.astype(np.float64), self.method, self.rank_constant) for pool in self.pools
        ]

    def explain(self, i: int, parts: Mapping[str, Explanation] | None = None) -> Explanation:
        """Explain the score of hit i: one part for each leg that found it, with the leg's own explanation inside."""
        by_leg: list[Explanation] = []
        for leg, name in enumerate(self.legs):
            rank, weight = int(self.ranks[leg, i]), float(self.weights[leg])
            if not rank:
                continue
            value = float(self.normalised[leg][rank - 1])
            share = weight * value
            facts: dict[str, float | int | str] = {
                "rank": rank,
                "score": float(self.pools[leg].scores[rank - 1]),
                "normalised": value,
                "weight": weight,
                "share": share,
            }
            below = (parts[name],) if parts and name in parts else ()
            by_leg.append(Explanation(name, share, "weight * normalised", facts, below))
        facts = {"method": self.method, "legs": len(self.legs)}
        if self.method == "rrf":
            facts["rank_constant"] = self.rank_constant
        return Explanation("fusion", float(self.scores[i]), FORMULAS[self.method], facts, tuple(by_leg))


def fuse_hits(
    hits_by_leg: Mapping[str, RankedKeys],
    weights: Mapping[str, float] | None = None,
    method: Method = "minmax",
    k: int | None = None,
    *,
    rank_constant: float = RANK_CONSTANT,
    order: Order | None = None,
    ordered: bool = True,
) -> Fused:
    """Return the best `k` of several pools, by the scores that `method` gives them.

    Args:
        hits_by_leg: pools by the name of their leg.
        weights: by leg, at least 0; 1 for a leg without one.
        method: one of "minmax", "rrf", "max"; see `FORMULAS`.
        k: None for all.
        rank_constant: above 0; used by "rrf" only.
        order: called only with keys that tie among the best `k`; None orders ties by key.
        ordered: whether the order of ties matters, beyond which of them are among the best `k`.

    Raises:
        ArgumentError: an unknown method or leg, or a number that breaks its rule.
    """
    legs = tuple(hits_by_leg)
    leg_weights = _check(legs, weights, method, rank_constant)
    pools = tuple(hits_by_leg.values())
    keys, scores = unite(pools, leg_weights, method, rank_constant)
    places = best_places(keys, scores, len(keys) if k is None else k, order, ordered=ordered)
    return Fused(keys[places], scores[places], legs, leg_weights, method, rank_constant, pools)


def _check(
    legs: Sequence[str], weights: Mapping[str, float] | None, method: Method, rank_constant: float
) -> NDArray[np.float64]:
    """Return the weights in the order of the legs, shape (legs,)."""
    if not isinstance(method, str) or method not in FORMULAS:
        hint = "; weights are named, as in weights={...}" if isinstance(method, Mapping) else ""
        raise ArgumentError(f"method must be one of {', '.join(FORMULAS)}, got {method!r}{hint}")
    check_positive(rank_constant, "rank_constant")
    weight_by_leg = dict.fromkeys(legs, 1.0)
    for name, weight in (weights or {}).items():
        if name not in weight_by_leg:
            raise ArgumentError(f"weights must name legs among {', '.join(legs)}, got {name!r}")
        weight_by_leg[name] = check_weight(weight, f"weights[{name!r}]")
    return np.array(list(weight_by_leg.values()), np.float64)


def best_places(
    keys: NDArray[np.int64], scores: NDArray[np.float64], k: int, order: Order | None, *, ordered: bool = True
) -> NDArray[np.int64]:
    """Return the places of the best `k` scores, best first, ties by `order`, called once for all of them, if at all."""
    order_of_places, is_any_tied = best(scores, k)
    if not is_any_tied or not (ordered or len(order_of_places) > k):
        return order_of_places
    values = scores[order_of_places]
    is_tied = np.zeros(len(values) + 1, np.bool_)
    np.equal(values[1:], values[:-1], out=is_tied[1:-1])
    places = (is_tied[1:] | is_tied[:-1]).nonzero()[0]
    tied = order_of_places[places]
    names = keys[tied] if order is None else order(keys[tied])
    by_score = sorted(zip((-scores[tied]).tolist(), names, tied.tolist(), strict=True))
    order_of_places[places] = [place for *_, place in by_score]
    return order_of_places[:k]
