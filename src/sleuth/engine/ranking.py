"""Ranks the rows of one version of an index: asks its legs for pools, fuses them, and compares the best rows once more.

The version may be one index or all shards of one: both rank by this code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sleuth.compose.fuse import best_places, fuse_hits
from sleuth.compose.pools import agreement
from sleuth.engine.fusion import Fusion
from sleuth.engine.search import PoolRequest
from sleuth.errors import RetrievalError
from sleuth.types import Explanation, PartReport

if TYPE_CHECKING:
    from sleuth.engine.pinned import Pinned, Pools
    from sleuth.engine.queries import QueryCondition
    from sleuth.filters import Filter
    from sleuth.store import Hits
    from sleuth.store.legs.searching import RowMatcher

_STEP_BEYOND = 1e-6
"""What a row beyond the pools loses for each rank: less than rows of the pools differ by."""
_FEW, _CERTAINTY = 20, 0.7
"""How certain a pool's last rows are for one leg and at most `_FEW` rows; for more, 1 (ends-of-pools.md)."""
_ENOUGH: Final = 0.3  # the agreement from which all of the weight counts
_LEAST: Final = 0.25  # the share of the weight that counts without any agreement
"""Chosen over 31 collections and 14 whose vectors say nothing (table: quality.md at 885da4c9)."""
_NAME = re.compile(r"[a-z][A-Z]|_|\w\.\w|::|\w\(")
"""Marks a name of code: getItem, get_item, os.path, std::map, main()."""


class RankedRows(NamedTuple):
    """The rows of a ranking: keys and scores best first, what each leg did, and why each hit is where it is.

    Attributes:
        explain: the explanation of hit i; of use while the version is open.
        hits: the pool of each leg that was asked.
        further: the hits of each leg from which rows beyond the pools come; none where the pools were enough.
        deeper: returns the best so many rows of the same ranking; of use while the version is open.
        is_listing: whether these are all rows with the values of metadata that a query asks for, by id, whether or not
            they hold words.
    """

    keys: list[int]
    scores: list[float]
    parts: tuple[PartReport, ...]
    explain: Callable[[int], Explanation]
    hits: Mapping[str, Hits]
    deeper: Callable[[int], RankedRows]
    further: Mapping[str, Hits] = MappingProxyType({})
    is_listing: bool = False


def rank(
    version: Pinned,
    query: str,
    k: int,
    tree: Filter | None,
    *,
    legs: Sequence[str],
    fusion: Fusion,
    explain: bool = False,
    exact: bool = False,
    conditions: tuple[QueryCondition, ...] = (),
    pools: Pools | None = None,
) -> RankedRows:
    """Return the best `k` rows that match the filter: the first rows of the ranking for any greater k.

    Several legs are fused from pools whose depth does not depend on k. Rows beyond the pools follow by their best rank
    in a leg.

    Args:
        legs: to search, at least one.
        explain: whether explanations will be requested: they hold ranks, which ids decide among ties.
        exact: score every row, instead of dropping some by an estimate.
        conditions: what rows must fulfil beside the filter.
        pools: of a ranking for a lesser k; None where there was none.

    Raises:
        EmbeddingError: the embedder failed and no other leg was asked for.
        RetrievalError: no leg answered.
    """
    # An inexact leg alone is asked for a pool as well: how sure it is of a row depends on how many are asked for.
    is_exact = len(legs) == 1 and version.searchers.legs[legs[0]].is_exact
    depth = k if is_exact else fusion.pool
    ordered = len(legs) == 1 or explain or fusion.method == "rrf"
    certainty = _CERTAINTY if k <= _FEW else 1.0
    request = PoolRequest(depth, tree, 0.0 if len(legs) > 1 else certainty, ordered, exact, conditions)
    if pools is None or is_exact:
        pools = version.pools(query, legs, request)
    if not pools.hits:
        reasons = "; ".join(f"{part.name}: {part.error}" for part in pools.parts)
        raise RetrievalError(f"no part answered: {reasons}", context={"query": query, "k": k})
    deeper = partial(
        rank, version, query, tree=tree, legs=legs, fusion=fusion, explain=explain, exact=exact,
        conditions=conditions, pools=pools,
    )  # fmt: skip
    if len(legs) == 1:
        leg, parts = legs[0], tuple(pools.parts)
        hits, form = pools.hits[leg], pools.queries[leg]
        keys, scores = hits.keys[:k].tolist(), hits.scores[:k].tolist()
        rows = RankedRows(
            keys, scores, parts, lambda i: version.explain(leg, form, keys[i]), pools.hits, deeper
        )
    else:
        rows = _fused(version, query, k, pools, legs=legs, fusion=fusion, deeper=deeper)
    if is_exact or k <= len(rows.keys) or all(len(hits.keys) < depth for hits in pools.hits.values()):
        return rows
    further = request._replace(depth=k, ordered=True)  # ranks are told, which ids decide among ties
    return _extended(rows, version, version.pools(query, legs, further), k, depth)


def _extended(rows: RankedRows, version: Pinned, pools: Pools, k: int, depth: int) -> RankedRows:
    """Return up to `k` rows: those of a ranking from pools, then what deeper pools add, by the best rank in a leg.

    Args:
        pools: at least `k` deep.
        depth: of the pools that the ranking is from.
    """
    known = set(rows.keys)
    ranks: dict[int, int] = {}
    leg_of: dict[int, str] = {}
    for name, hits in pools.hits.items():
        for rank_in_leg, key in enumerate(hits.keys.tolist(), 1):
            if key not in known and rank_in_leg < ranks.get(key, k + 1):
                ranks[key], leg_of[key] = rank_in_leg, name
    orders = dict(zip(ranks, version.asked.order(ranks), strict=True))
    added = sorted(ranks, key=lambda key: (max(ranks[key], depth), orders[key]))[: k - len(known)]
    lowest_score = rows.scores[-1] if rows.scores else 0.0
    scores = [lowest_score - _STEP_BEYOND * max(0, ranks[key] - depth) for key in added]

    def explain(i: int) -> Explanation:
        if i < len(known):
            return rows.explain(i)
        key, score = added[i - len(known)], scores[i - len(known)]
        below = version.explain(leg_of[key], pools.queries[leg_of[key]], key)
        facts = {"rank": ranks[key], "pool": depth}
        return Explanation(
            "beyond", score, "least score of the pools - 1e-6 * (rank - pool)", facts, (below,)
        )

    keys, values = [*rows.keys, *added], [*rows.scores, *scores]
    return rows._replace(keys=keys, scores=values, explain=explain, further=pools.hits)


class LegWeights(NamedTuple):
    """What counts how much in one fused ranking.

    Attributes:
        legs: weight by leg.
        reasons: by leg, what its default weight was multiplied by, as an explanation tells it.
        matching: the leg whose matcher compares the best rows once more; "" for none.
        matcher: that matcher.
        match_weight: of the best score, what the best match gains.
    """

    legs: Mapping[str, float]
    reasons: Mapping[str, Mapping[str, float]]
    matching: str = ""
    matcher: RowMatcher | None = None
    match_weight: float = 0.0


def weigh(version: Pinned, query: str, pools: Pools, fusion: Fusion, legs: Sequence[str]) -> LegWeights:
    """Return the weights for a query: default ones fall where a leg is worth less, others stay.

    Args:
        legs: that were asked, whether they answered or not.
    """
    weights: dict[str, float] = {}
    reasons: dict[str, Mapping[str, float]] = {}
    if not fusion.is_default:
        weights = {name: fusion.weights.get(name, 1.0) for name in pools.hits}
    else:
        certain: Hits | None = None
        for name, hits in pools.hits.items():
            leg = version.searchers.legs[name]
            weights[name] = leg.weight
            if leg.is_certain:
                certain = hits if certain is None else certain
            elif certain is not None:
                knowledge, trust = leg.knowledge(query), trust_in(hits, certain)
                words = query.split()
                if words and all(map(_NAME.search, words)):  # for which a reader looks by their letters
                    weights[name] = min(leg.weight, type(leg).weight)
                weights[name] *= knowledge * trust
                reasons[name] = {"knowledge": knowledge, "trust": trust}
    for name, matcher in version.searchers.matchers.items():
        if name in legs:
            weight = matcher.weight * reasons[name]["knowledge"] if name in reasons else matcher.weight
            if fusion.tokens is not None or fusion.method != "minmax":
                weight = fusion.tokens or 0.0
            return LegWeights(weights, reasons, name, matcher if weight else None, weight)
    return LegWeights(weights, reasons)


def trust_in(hits: Hits, certain: Hits) -> float:
    """Return the share of a leg's weight that counts, .25 to 1: all of it where it agrees enough with a certain leg.

    Where vectors are worth something, half of the first hits of each leg are among the first hundred of the other;
    where they are not, one in five is, by chance and by the words that a text and its vector have in common.
    """
    return min(1.0, max(_LEAST, agreement(certain, hits) / _ENOUGH))


def _fused(
    version: Pinned,
    query: str,
    k: int,
    pools: Pools,
    *,
    legs: Sequence[str],
    fusion: Fusion,
    deeper: Callable[[int], RankedRows],
) -> RankedRows:
    """Return the best `k` rows of several legs; the first of them are compared with the query once more."""
    weights = weigh(version, query, pools, fusion, legs)
    matcher, weight = weights.matcher, weights.match_weight
    fused_hits = fuse_hits(
        pools.hits,
        weights.legs,
        fusion.method,
        max(k, matcher.depth) if matcher else k,
        rank_constant=fusion.rank_constant,
        order=version.asked.order,
        ordered=matcher is None or k > matcher.depth,  # else all are ordered below
    )
    scores, values, places = fused_hits.scores, np.zeros(0), np.arange(len(fused_hits.keys))
    if matcher is not None and len(fused_hits.keys) > 1:
        values = version.match(weights.matching, query, fused_hits.keys[: matcher.depth])
        scores = matcher.lift(scores, values, weight)
        places = best_places(fused_hits.keys, scores, k, version.asked.order)

    def explain(i: int) -> Explanation:
        """The fusion's explanation stands over those of the legs that found the hit, with the reasons for weights."""
        place = int(places[i])
        key, queries = int(fused_hits.keys[place]), pools.queries
        found_by = [leg for leg, ranks in zip(fused_hits.legs, fused_hits.ranks, strict=True) if ranks[place]]
        below = fused_hits.explain(place, {leg: version.explain(leg, queries[leg], key) for leg in found_by})
        parts = [
            replace(part, facts={**part.facts, **weights.reasons.get(part.name, {})}) for part in below.parts
        ]
        below = replace(below, parts=tuple(parts))
        if matcher is None or place >= len(values):
            return below
        return matcher.explain(float(scores[place]), float(values[place]), below.value, weight, below)

    keys, values_of_keys = fused_hits.keys[places].tolist(), scores[places].tolist()
    return RankedRows(keys, values_of_keys, tuple(pools.parts), explain, pools.hits, deeper)
