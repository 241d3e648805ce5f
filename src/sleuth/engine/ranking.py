"""Ranks the rows of one version of an index: asks its legs for pools, fuses them, and matches tokens.

The version may be one index or all shards of one: both rank by this code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sleuth.compose import Fused, best_places, fuse_hits
from sleuth.dense import late
from sleuth.engine.fusion import WEIGHTS, Fusion
from sleuth.engine.trust import trust_in_vectors
from sleuth.errors import RetrievalError
from sleuth.types import Explanation, PartReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.engine.queries import QueryCondition
    from sleuth.filters import Filter
    from sleuth.store import Hits

LegQuery: TypeAlias = "str | Mapping[str, Mapping[str, float]] | NDArray[np.float32]"
"""What a leg is asked: words, terms by field with how often each counts, or the query's vector."""


@dataclass(frozen=True, slots=True)
class PoolRequest:
    """What each leg is asked for.

    Attributes:
        depth: rows wanted of each leg, 1 or more.
        tree: which rows may answer; None for all.
        pooled: whether the rows are fused with those of other legs: the far end of a pool need not be certain.
        ordered: whether equal scores must be in order of id; which rows are in the pool goes by id in any case.
        exact: whether no row may be given up by an estimate.
        conditions: what rows must fulfil beside the filter.
    """

    depth: int
    tree: Filter | None
    pooled: bool
    ordered: bool
    exact: bool
    conditions: tuple[QueryCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Pools:
    """What the legs answered, by leg.

    Attributes:
        queries: what each leg was asked.
        hits: best first; absent where a leg failed.
        parts: a report of each leg.
    """

    queries: Mapping[str, LegQuery]
    hits: Mapping[str, Hits]
    parts: Sequence[PartReport]


class Rankable(Protocol):
    """One version of an index, or of all its shards, during one query. Keys name rows in it."""

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score; 0 where the embedder has no tokens to match."""
        ...

    def knowledge(self, query: str) -> float:
        """Return how well the embedder knows the language of a query, 0 to 1."""
        ...

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """Return the best rows of each leg.

        Raises:
            EmbeddingError: the embedder failed and no other leg was asked for.
        """
        ...

    def order(self, keys: NDArray[np.int64]) -> Sequence[Any]:
        """Return the tie-break order of these keys: by document id, then by place in the document."""
        ...

    def match(self, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match the tokens of the query, shape (len(keys),)."""
        ...

    def explain(self, leg: str, query: LegQuery, key: int) -> Explanation:
        """Return why a leg gives this row its score."""
        ...


@dataclass(frozen=True, slots=True)
class RankedRows:
    """The rows of a ranking: keys and scores best first, what each leg did, and why each hit is where it is.

    Attributes:
        explain: the explanation of hit i; of use while the version is open.
        hits: the pool of each leg that was asked.
    """

    keys: list[int]
    scores: list[float]
    parts: tuple[PartReport, ...]
    explain: Callable[[int], Explanation]
    hits: Mapping[str, Hits]


def rank(
    version: Rankable,
    query: str,
    k: int,
    tree: Filter | None,
    *,
    legs: Sequence[str],
    fusion: Fusion,
    explain: bool = False,
    exact: bool = False,
    conditions: tuple[QueryCondition, ...] = (),
) -> RankedRows:
    """Return the best `k` rows that match the filter.

    Args:
        legs: to search, at least one.
        explain: whether explanations will be asked for: they tell ranks, which hits that tie have by id.
        exact: give up no row by an estimate of its score.
        conditions: what rows must fulfil beside the filter.

    Raises:
        EmbeddingError: the embedder failed and no other leg was asked for.
        RetrievalError: no leg answered.
    """
    # The dense leg alone is asked for a pool as well: how sure it is of a row depends on how many are asked for.
    depth = k if list(legs) == ["lexical"] else max(k, fusion.pool)
    ordered = len(legs) == 1 or explain or fusion.method == "rrf"
    pools = version.pools(query, legs, PoolRequest(depth, tree, len(legs) > 1, ordered, exact, conditions))
    if not pools.hits:
        reasons = "; ".join(f"{part.name}: {part.error}" for part in pools.parts)
        raise RetrievalError(f"no part answered: {reasons}", context={"query": query, "k": k})
    if len(legs) == 1:
        return _alone(version, pools, legs[0], k)
    weights = weigh(version, query, pools, fusion)
    fused = fuse_hits(
        pools.hits,
        weights.legs,
        fusion.method,
        max(k, late.READ) if weights.tokens else k,
        rank_constant=fusion.rank_constant,
        order=version.order,
    )
    if weights.tokens and len(fused) > 1:
        return _matched(version, fused, pools, query, k, weights=weights)
    return RankedRows(
        fused.keys.tolist(),
        fused.scores.tolist(),
        tuple(pools.parts),
        lambda i: _unfold(version, fused, pools, weights, i),
        pools.hits,
    )


@dataclass(frozen=True, slots=True)
class LegWeights:
    """What counts how much in one fused ranking.

    Attributes:
        legs: weight by leg.
        tokens: of the best score, what the best match of tokens gains; 0 where none are matched.
        reasons: what the default weights were multiplied by, as an explanation tells it.
    """

    legs: Mapping[str, float]
    tokens: float
    reasons: Mapping[str, float]


def weigh(version: Rankable, query: str, pools: Pools, fusion: Fusion) -> LegWeights:
    """Return the weights for a query: default ones fall where vectors are worth less, others stay."""
    legs = {leg: fusion.weights.get(leg, 1.0) for leg in pools.hits}
    tokens = version.token_weight if fusion.method == "minmax" else 0.0
    reasons: dict[str, float] = {}
    if fusion.weights == WEIGHTS and len(legs) == len(WEIGHTS):
        knowledge = version.knowledge(query)
        trust = trust_in_vectors(pools.hits["lexical"], pools.hits["dense"])
        legs["dense"] *= knowledge * trust
        tokens *= knowledge
        reasons = {"knowledge": knowledge, "trust": trust}
    return LegWeights(legs, tokens if fusion.tokens is None else fusion.tokens, reasons)


def _alone(version: Rankable, pools: Pools, leg: str, k: int) -> RankedRows:
    """Return the best `k` rows of the only leg that was asked; its own report says nothing that they do not."""
    hits = pools.hits[leg]
    keys = hits.keys[:k].tolist()
    return RankedRows(
        keys,
        hits.scores[:k].tolist(),
        tuple(part for part in pools.parts if part.name != leg),
        lambda i: version.explain(leg, pools.queries[leg], keys[i]),
        pools.hits,
    )


def _matched(
    version: Rankable, fused: Fused, pools: Pools, query: str, k: int, *, weights: LegWeights
) -> RankedRows:
    """Return the best `k` of a fused ranking, after the tokens of the first of them were matched."""
    values = version.match(query, fused.keys[: late.READ])
    scores = fused.scores.copy()
    scores[: len(values)] = late.lift(scores[: len(values)], values, weights.tokens)
    places = best_places(fused.keys, scores, min(k, len(scores)), version.order).tolist()

    def explain(i: int) -> Explanation:
        place = places[i]
        below = _unfold(version, fused, pools, weights, place)
        if place >= len(values):
            return below
        return late.explain(float(scores[place]), float(values[place]), below.value, weights.tokens, below)

    best, values_of_best = fused.keys[places].tolist(), scores[places].tolist()
    return RankedRows(best, values_of_best, tuple(pools.parts), explain, pools.hits)


def _unfold(version: Rankable, fused: Fused, pools: Pools, weights: LegWeights, i: int) -> Explanation:
    key = int(fused.keys[i])
    legs = [leg for leg, ranks in zip(fused.legs, fused.ranks, strict=True) if ranks[i]]
    explanation = fused.explain(i, {leg: version.explain(leg, pools.queries[leg], key) for leg in legs})
    return replace(explanation, facts={**explanation.facts, **weights.reasons})
