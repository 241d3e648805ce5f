"""Searchers of one version of all shards, which gather their rankings into that of one index."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth.cluster.shards.keys import KEY_BITS, LOCAL
from sleuth.cluster.shards.selection import GatheredSelection
from sleuth.cluster.shards.shard import Ask
from sleuth.cluster.shards.shards import ShardsMissingError
from sleuth.dense import DenseSearcher
from sleuth.engine import LEGS, Fusion, PoolRequest, Pools, RankedRows, check_in_time, embedded, rank
from sleuth.errors import EmbeddingError
from sleuth.lexical import Corpus, FieldLengths, FieldStatistics, LexicalSearcher
from sleuth.store import Hits, best_hits, no_hits
from sleuth.types import PartReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.cluster.shards.snapshot import GatheredSnapshot
    from sleuth.dense import DenseLeg
    from sleuth.engine import LegQuery, MetadataKey, QueryCondition
    from sleuth.filters import Filter
    from sleuth.lexical import LexicalLeg
    from sleuth.remote import Deadline
    from sleuth.types import Explanation

_MOST_TOKENS = 1 << 20
"""Tokens whose frequencies are kept for one version."""


def summed(lengths: Iterable[Mapping[str, FieldLengths]]) -> dict[str, FieldStatistics]:
    """Return the statistics of all shards, by field."""
    totals: dict[str, FieldLengths] = {}
    for by_field in lengths:
        for name, (total, filled) in by_field.items():
            before = totals.get(name, FieldLengths(0, 0))
            totals[name] = FieldLengths(before.total + total, before.filled + filled)
    return {name: FieldStatistics.of(total) for name, total in totals.items()}


class GatheredSearchers:
    """Searches one version of all shards; shared by all threads.

    Statistics are summed over the shards once for a version, and frequencies once for a token.

    Attributes:
        version: grows with every commit of a shard.
        legs: names of the legs that rank, in order.
        corpus: the statistics of all shards.
    """

    def __init__(self, snapshot: GatheredSnapshot, lexical: LexicalLeg, dense: DenseLeg | None) -> None:
        """Searchers of all shards, whose legs these are."""
        self.version = snapshot.version
        self._versions = snapshot.shards.versions
        # Without segments: they analyse and embed queries.
        self._dense = None if dense is None else DenseSearcher(dense, [])
        self.legs = LEGS if dense is not None else LEGS[:1]
        lengths = snapshot.try_all("lengths")
        self._failures = lengths.failures
        statistics = summed(lengths.values.values())
        names = {*lexical.fields, *statistics}
        self.corpus = Corpus(statistics, {name: dict[str, int]() for name in names})
        self._lexical = LexicalSearcher(lexical, [], corpus=self.corpus)
        self._name = uuid.uuid4().hex
        self._key_names: dict[Filter | None, frozenset[str]] = {}

    def show(self, snapshot: GatheredSnapshot) -> bool:
        """Return whether these are the searchers of a snapshot, with the statistics of all its shards."""
        few = sum(map(len, self.corpus.frequencies.values())) < _MOST_TOKENS
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
            GatheredVersion(self, replace(snapshot, deadline=deadline)),
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
        """Return the best `k` rows of all shards by the cosine with a vector."""
        request = PoolRequest(k, tree, False, True, exact)
        hits, failures = self.gather({"dense": vector}, request, snapshot)
        if failures:
            raise ShardsMissingError(failures)
        return hits["dense"]

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
        """Return BM25's idf of each token that the text of a row holds; the other tokens are left out."""
        return self.idf(sorted(set[str]().union(*snapshot.ask_all("held", list(tokens)))), snapshot)

    def best_with(self, token: str, k: int, tree: Filter | None, snapshot: GatheredSnapshot) -> list[int]:
        """Return the keys of the best `k` rows of all shards whose text holds a token and that match a filter."""
        request = PoolRequest(k, tree, pooled=False, ordered=False, exact=False)
        hits, failures = self.gather({"lexical": {"text": {token: 1.0}}}, request, snapshot)
        if failures:
            raise ShardsMissingError(failures)
        keys: list[int] = hits["lexical"].keys.tolist()
        return keys

    def idf(self, terms: Iterable[str], snapshot: GatheredSnapshot) -> dict[str, float]:
        """Return BM25's idf of each term, in the field where most rows hold it."""
        names = list(terms)
        self._count(dict.fromkeys(self.corpus.frequencies, names), snapshot)
        return self._lexical.idf(names)

    def ask(self, leg: str, query: str, deadline: Deadline | None) -> LegQuery:
        """Return what each shard is asked: the query's vector or its terms, made once.

        Raises:
            TimeoutError: the embedder did not answer before the deadline.
        """
        if leg == "dense" and self._dense is not None:
            return embedded(self._dense, query, deadline)
        return self._lexical.analyse(query)

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

    def knowledge(self, query: str) -> float:
        """Return how well the embedder knows the language of a query."""
        return self._dense.leg.knowledge(query) if self._dense is not None else 1.0

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score."""
        return self._dense.leg.token_weight if self._dense is not None else 0.0

    def gather(
        self, queries: Mapping[str, LegQuery], request: PoolRequest, snapshot: GatheredSnapshot
    ) -> tuple[dict[str, Hits], list[PartReport]]:
        """Return the best rows of each leg over all shards, and a report of each shard that did not answer.

        Each shard is asked for its fair share and some more; one whose answer may go on among the best is asked again
        for all.
        """
        failures = list(self._failures)
        if isinstance(terms := queries.get("lexical"), Mapping):
            failures += self._count(terms, snapshot)
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

    def _ask_of(self, queries: Mapping[str, LegQuery], request: PoolRequest) -> Ask:
        """Return what shards are asked, with the frequencies of the terms; terms that no row holds are left out."""
        frequencies: dict[str, dict[str, int]] = {}
        terms = queries.get("lexical")
        if isinstance(terms, Mapping):
            for field, some in terms.items():
                counts = self.corpus.frequencies[field]
                if present := {token: counts[token] for token in some if counts[token]}:
                    frequencies[field] = present
            present_terms = {
                field: {token: terms[field][token] for token in some} for field, some in frequencies.items()
            }
            queries = {**queries, "lexical": present_terms}
        return Ask(queries, request, self._name, Corpus(self.corpus.statistics, frequencies))

    def explain(self, snapshot: GatheredSnapshot, leg: str, query: LegQuery, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        ask = self._ask_of({leg: query}, PoolRequest(1, None, False, False, False))
        number = key >> KEY_BITS
        answers = snapshot.try_some("explain", {number: (ask, leg, key & LOCAL)})
        if answers.failures:
            raise ShardsMissingError(answers.failures)
        explanation: Explanation = answers.values[number]
        return explanation

    def _count(self, tokens: Mapping[str, Iterable[str]], snapshot: GatheredSnapshot) -> list[PartReport]:
        """Sum how many rows of each shard hold these tokens, for those that are not known yet."""
        frequencies: Any = self.corpus.frequencies
        unknown = {
            field: [token for token in some if token not in frequencies[field]]
            for field, some in tokens.items()
        }
        if not any(unknown.values()):
            return []
        answers = snapshot.try_all("frequencies", unknown)
        for field, some in unknown.items():
            parts = [part[field] for part in answers.values.values() if field in part]
            frequencies[field] |= {token: sum(df[token] for df in parts) for token in some}
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

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score."""
        return self.searchers.token_weight

    def knowledge(self, query: str) -> float:
        """Return how well the embedder knows the language of a query."""
        return self.searchers.knowledge(query)

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """Return the best rows of each leg over all shards, asked for all legs at once."""
        queries: dict[str, LegQuery] = {}
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

    def match(self, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how well rows match the tokens of the query."""
        return self.snapshot.match(query, keys)

    def explain(self, leg: str, query: LegQuery, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        return self.searchers.explain(self.snapshot, leg, query, key)


class GatheredOfNewest:
    """The searchers of the newest version of all shards that was asked for. Thread-safe."""

    def __init__(self, lexical: LexicalLeg, dense: DenseLeg | None) -> None:
        self._legs = lexical, dense
        self._searchers: GatheredSearchers | None = None
        self._making = Lock()

    def of(self, snapshot: GatheredSnapshot) -> GatheredSearchers:
        """Return the searchers of a snapshot."""
        searchers = self._searchers
        if searchers is None or not searchers.show(snapshot):
            with self._making:
                searchers = self._searchers = GatheredSearchers(snapshot, *self._legs)
        return searchers

    def forget(self) -> None:
        """Let go of them."""
        self._searchers = None
