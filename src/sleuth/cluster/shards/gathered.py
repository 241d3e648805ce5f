"""Searchers of one version of all shards, which gather their rankings into that of one index."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth.cluster.shards.keys import KEY_BITS, LOCAL
from sleuth.cluster.shards.selection import GatheredSelection
from sleuth.cluster.shards.shard import Ask
from sleuth.cluster.shards.shards import ShardsMissingError
from sleuth.engine import (
    Fusion,
    PoolRequest,
    Pools,
    RankedRows,
    ask_leg,
    check_in_time,
    legs_that_rank,
    matchers_of,
    rank,
    vector_leg,
    words_among,
)
from sleuth.errors import EmbeddingError
from sleuth.store import Corpus, Hits, Tally, best_hits, no_hits
from sleuth.types import PartReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.cluster.shards.snapshot import GatheredSnapshot
    from sleuth.engine import MetadataKey, QueryCondition
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.store import IndexLeg, LegSearcher, RankingLeg, RowMatcher
    from sleuth.types import Explanation

_MOST_COUNTS = 1 << 20
"""Numbers of queries that are kept for one version, such as frequencies of tokens."""


def summed(tallies: Iterable[Tally]) -> dict[str, dict[str, int]]:
    """Return the sum of the numbers of all shards, by group and name."""
    totals: dict[str, dict[str, int]] = {}
    for tally in tallies:
        for group, numbers in tally.items():
            sums = totals.setdefault(group, {})
            for name, number in numbers.items():
                sums[name] = sums.get(name, 0) + number
    return totals


class GatheredSearchers:
    """Searches one version of all shards; shared by all threads.

    The numbers that scores depend on are summed over the shards: once for a version, and once for each word of queries.

    Attributes:
        version: grows with every commit of a shard.
        legs: the legs that rank, by name, in order.
        matchers: what compares the best rows of a fused ranking once more, by the leg that has it.
        corpora: by leg, the numbers of all shards.
    """

    def __init__(self, snapshot: GatheredSnapshot, legs: Sequence[IndexLeg]) -> None:
        """Searchers of all shards, whose legs these are."""
        self.version = snapshot.version
        self._versions = snapshot.shards.versions
        self.legs = legs_that_rank(legs)
        totals = snapshot.try_all("totals")
        self._failures = totals.failures
        self.corpora = {
            leg: Corpus(summed(part[leg] for part in totals.values.values() if leg in part))
            for leg in self.legs
        }
        # Without segments: they turn queries into the form that shards are asked in.
        self._by_leg: dict[str, LegSearcher[Any]] = {
            name: leg.searcher([], corpus=self.corpora[name]) for name, leg in self.legs.items()
        }
        self.matchers = matchers_of(self._by_leg)
        self._word_leg, self._words = words_among(self._by_leg)
        self._name = uuid.uuid4().hex
        self._key_names: dict[Filter | None, frozenset[str]] = {}

    def show(self, snapshot: GatheredSnapshot) -> bool:
        """Return whether these are the searchers of a snapshot, with the numbers of all its shards."""
        few = (
            sum(len(group) for corpus in self.corpora.values() for group in corpus.counts.values())
            < _MOST_COUNTS
        )
        return self._versions == snapshot.shards.versions and not self._failures and few

    def search(
        self,
        query: str,
        k: int,
        tree: Filter | None,
        legs: Sequence[str],
        fusion: Fusion,
        *,
        snapshot: GatheredSnapshot,
        explain: bool = False,
        exact: bool = False,
        deadline: Deadline | None = None,
        conditions: tuple[QueryCondition, ...] = (),
    ) -> RankedRows:
        """Return the best `k` rows of all shards that match the filter; see `Searchers.search`."""
        return rank(
            GatheredVersion(self, replace(snapshot, deadline=deadline), self.legs, self.matchers),
            query,
            k,
            tree,
            legs=legs,
            fusion=fusion,
            explain=explain,
            exact=exact,
            conditions=conditions,
        )

    def nearest(
        self,
        vector: NDArray[np.float32],
        k: int,
        tree: Filter | None,
        *,
        snapshot: GatheredSnapshot,
        exact: bool = False,
    ) -> Hits:
        """Return the best `k` rows of all shards for a vector, by the leg that takes one."""
        return self._alone(vector_leg(self.legs), vector, PoolRequest(k, tree, False, True, exact), snapshot)

    def _alone(self, leg: str, query: Any, request: PoolRequest, snapshot: GatheredSnapshot) -> Hits:
        """Return the best rows of one leg over all shards.

        Raises:
            ShardsMissingError: a shard does not answer.
        """
        hits, failures = self.gather({leg: query}, request, snapshot)
        if failures:
            raise ShardsMissingError(failures)
        return hits[leg]

    def lookup(
        self, conditions: tuple[QueryCondition, ...], tree: Filter | None, snapshot: GatheredSnapshot
    ) -> list[int]:
        """Keys of all rows that fulfil conditions and match a filter, by document id and place."""
        parts = snapshot.ask_all("lookup", conditions, tree)
        keys = [key | number << KEY_BITS for number, some in enumerate(parts) for key in some]
        order = dict(zip(keys, snapshot.order(keys), strict=True))
        return sorted(keys, key=order.__getitem__)

    def fulfils(self, condition: QueryCondition, snapshot: GatheredSnapshot) -> bool:
        """Return whether any row of a shard fulfils a condition."""
        return any(snapshot.ask_all("fulfils", condition))

    def held(self, tokens: Iterable[str], snapshot: GatheredSnapshot) -> dict[str, float]:
        """Return how rare each token is that the text of a row holds; the other tokens are left out."""
        return self.idf(sorted(set[str]().union(*snapshot.ask_all("held", list(tokens)))), snapshot)

    def best_with(self, token: str, k: int, tree: Filter | None, snapshot: GatheredSnapshot) -> list[int]:
        """Return the keys of the best `k` rows of all shards whose text holds a token and that match a filter."""
        request = PoolRequest(k, tree, pooled=False, ordered=False, exact=False)
        keys: list[int] = self._alone(
            self._word_leg, self._words.word(token), request, snapshot
        ).keys.tolist()
        return keys

    def idf(self, terms: Iterable[str], snapshot: GatheredSnapshot) -> dict[str, float]:
        """Return how rare each term is among the rows of all shards."""
        names = list(terms)
        self._count({self._word_leg: dict.fromkeys(self._words.groups(), names)}, snapshot)
        return self._words.idf(names)

    def ask(self, leg: str, query: str, deadline: Deadline | None) -> Any:
        """Return what each shard is asked: the query in the form of a leg, made once.

        Raises:
            TimeoutError: the leg did not make it before the deadline.
        """
        return ask_leg(self.legs[leg], self._by_leg[leg], query, deadline)

    def select(
        self, snapshot: GatheredSnapshot, tree: Filter | None, *, query: str | None = None
    ) -> GatheredSelection:
        """Return the rows of all shards that match a filter and hold a word of the query, to be counted."""
        return GatheredSelection(snapshot, tree, query)

    def metadata_keys(self, snapshot: GatheredSnapshot, tree: Filter | None) -> list[MetadataKey]:
        """Return the metadata keys of the documents of all shards that match a filter."""
        return self.select(snapshot, tree).metadata_keys()

    def key_names(self, snapshot: GatheredSnapshot, scope: Filter | None) -> frozenset[str]:
        """Return the metadata keys of the rows that a filter allows."""
        names = self._key_names.get(scope)
        if names is None:
            answers = snapshot.try_all("key_names", scope)
            names = frozenset[str]().union(*answers.values.values())
            if not answers.failures:
                self._key_names[scope] = names
        return names

    def gather(
        self, queries: Mapping[str, Any], request: PoolRequest, snapshot: GatheredSnapshot
    ) -> tuple[dict[str, Hits], list[PartReport]]:
        """Return the best rows of each leg over all shards, and a report of each shard that did not answer.

        Each shard is asked for its fair share and some more; one whose answer may go on among the best is asked again
        for all.
        """
        words = {leg: self._by_leg[leg].names(query) for leg, query in queries.items()}
        failures = [*self._failures, *self._count(words, snapshot)]
        names = snapshot.shards.names
        lost = frozenset(map(names.index, {part.name for part in failures}))
        # Ties within a shard are put in order here, with those of other shards.
        whole = self._ask_of(queries, replace(request, ordered=False))
        share = replace(whole, request=replace(whole.request, depth=share_of(request.depth, len(names))))
        answers = snapshot.try_all("pools", share, without=lost)
        pools: dict[int, dict[str, Hits]] = answers.values
        hits = {
            leg: merged({number: some[leg] for number, some in pools.items()}, request, snapshot)
            for leg in queries
        }
        unsure = {
            number
            for number, some in pools.items()
            for leg, pool in some.items()
            if goes_on(pool, share.request.depth, hits[leg], request.depth)
        }
        if unsure:
            again = snapshot.try_some("pools", dict.fromkeys(sorted(unsure), (whole,)))
            pools |= again.values
            failures += again.failures
            hits = {
                leg: merged({number: some[leg] for number, some in pools.items()}, request, snapshot)
                for leg in queries
            }
        return hits, failures + answers.failures

    def _ask_of(self, queries: Mapping[str, Any], request: PoolRequest) -> Ask:
        """Return what shards are asked, with the numbers of the words; words that no row holds are left out."""
        queries = {leg: self._by_leg[leg].present(query) for leg, query in queries.items()}
        corpora = {
            leg: Corpus(corpus.totals, self._counts_in(leg, queries[leg]) if leg in queries else {})
            for leg, corpus in self.corpora.items()
        }
        return Ask(queries, request, self._name, corpora)

    def _counts_in(self, leg: str, query: Any) -> dict[str, dict[str, int]]:
        """Return the numbers of the words of a query, by group."""
        counts = self.corpora[leg].counts
        return {
            group: {name: counts[group][name] for name in names}
            for group, names in self._by_leg[leg].names(query).items()
        }

    def explain(self, snapshot: GatheredSnapshot, leg: str, query: Any, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        ask = self._ask_of({leg: query}, PoolRequest(1, None, False, False, False))
        number = key >> KEY_BITS
        answers = snapshot.try_some("explain", {number: (ask, leg, key & LOCAL)})
        if answers.failures:
            raise ShardsMissingError(answers.failures)
        explanation: Explanation = answers.values[number]
        return explanation

    def _count(
        self, words: Mapping[str, Mapping[str, Collection[str]]], snapshot: GatheredSnapshot
    ) -> list[PartReport]:
        """Sum what is to be counted of each shard, by leg and group, as far as it is not known yet."""
        unknown: dict[str, dict[str, list[str]]] = {}
        for leg, groups in words.items():
            counts = self.corpora[leg].counts
            for group, names in groups.items():
                known = counts.setdefault(group, {})
                if some := [name for name in names if name not in known]:
                    unknown.setdefault(leg, {})[group] = some
        if not unknown:
            return []
        answers = snapshot.try_all("counts_of", unknown)
        for leg, groups in unknown.items():
            sums = summed(part[leg] for part in answers.values.values())
            for group, names in groups.items():
                self.corpora[leg].counts[group] |= {name: sums.get(group, {}).get(name, 0) for name in names}
        if answers.failures:  # the sums lack a shard: the next query asks again
            self._failures = answers.failures
        return answers.failures


def share_of(depth: int, shards: int) -> int:
    """Return how many rows to ask of each shard for the best `depth` of all.

    Documents are spread by a hash, so how many of the best rows are in one shard is binomial: it exceeds its mean by
    six standard deviations about once in 10^9 times.
    """
    mean = depth / shards
    return min(depth, math.ceil(mean + 6 * math.sqrt(mean)) + 8)


def goes_on(pool: Hits, limit: int, best: Hits, depth: int) -> bool:
    """Return whether a shard's rows beyond the `limit` that it gave may be among the best `depth` of all."""
    if len(pool) < limit or limit >= depth:
        return False
    return len(best) < depth or bool(pool.scores[-1] >= best.scores[-1])


def merged(hits: Mapping[int, Hits], request: PoolRequest, snapshot: GatheredSnapshot) -> Hits:
    """Return the best rows of several shards, ties by id.

    Args:
        hits: by number of the shard, with the keys there.
    """
    some = [(number, pool) for number, pool in hits.items() if len(pool)]
    if not some:
        return no_hits()
    keys = np.concatenate([pool.keys | number << KEY_BITS for number, pool in some])
    scores = np.concatenate([pool.scores for _, pool in some])
    ranked = np.argsort(-scores, kind="stable")
    least = scores[ranked[min(request.depth, len(ranked)) - 1]]
    ranked = ranked[: int(np.count_nonzero(scores >= least))]
    # Each row counts as a segment of its own, so that all ties are put in order, those within a shard too.
    return best_hits(
        np.arange(len(ranked), dtype=np.int32),
        keys[ranked],
        scores[ranked],
        True,
        request.depth,
        lambda tied: snapshot.order(tied.tolist()),  # type: ignore[arg-type, return-value]
        ordered=request.ordered,
    )


@dataclass(frozen=True)
class GatheredVersion:
    """The searchers of all shards and a snapshot of them: a `Rankable`."""

    searchers: GatheredSearchers
    snapshot: GatheredSnapshot
    legs: Mapping[str, RankingLeg[Any]]
    matchers: Mapping[str, RowMatcher]

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """Return the best rows of each leg over all shards, asked for all legs at once."""
        queries: dict[str, Any] = {}
        parts: dict[str, PartReport] = {}
        started = time.perf_counter()
        for leg in legs:
            try:
                queries[leg] = self.searchers.ask(leg, query, self.snapshot.deadline)
                check_in_time(self.snapshot.deadline)
            except TimeoutError as error:
                queries.pop(leg, None)
                parts[leg] = PartReport(leg, "abandoned", time.perf_counter() - started, error=str(error))
            except EmbeddingError as error:
                if len(legs) == 1:
                    raise
                seconds = time.perf_counter() - started
                parts[leg] = PartReport(leg, "failed", seconds, error=str(error), exception=error)
        hits, failures = self.searchers.gather(queries, request, self.snapshot)
        seconds = time.perf_counter() - started
        parts |= {leg: PartReport(leg, "ok", seconds, len(some)) for leg, some in hits.items()}
        return Pools(queries, hits, [*(parts[leg] for leg in legs), *failures])

    def order(self, keys: NDArray[np.int64]) -> Sequence[Any]:
        """Return the tie-break order of these keys."""
        return self.snapshot.order(keys.tolist())

    def match(self, leg: str, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match the query, as the matcher of a leg says."""
        return self.snapshot.match(leg, query, keys)

    def explain(self, leg: str, query: Any, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        return self.searchers.explain(self.snapshot, leg, query, key)


class GatheredOfNewest:
    """The searchers of the newest version of all shards that was asked for. Thread-safe."""

    def __init__(self, legs: Sequence[IndexLeg]) -> None:
        self._legs = legs
        self._searchers: GatheredSearchers | None = None
        self._making = Lock()

    def of(self, snapshot: GatheredSnapshot) -> GatheredSearchers:
        """Return the searchers of a snapshot."""
        searchers = self._searchers
        if searchers is None or not searchers.show(snapshot):
            with self._making:
                searchers = self._searchers = GatheredSearchers(snapshot, self._legs)
        return searchers

    def forget(self) -> None:
        """Let go of them."""
        self._searchers = None
