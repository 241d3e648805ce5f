"""One version of all shards: a snapshot that reads from each, and searchers that gather their rankings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import merge
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from sleuth.cluster.shards.keys import KEY_BITS
from sleuth.cluster.shards.layout import shard_of
from sleuth.cluster.shards.selection import GatheredSelection
from sleuth.cluster.shards.shard import Ask, Shard
from sleuth.dense import DenseSearcher
from sleuth.engine import LEGS, Fusion, PoolRequest, Pools, RankedRows, check_in_time, embedded, rank
from sleuth.errors import EmbeddingError, RetrievalError
from sleuth.lexical import Corpus, FieldLengths, FieldStatistics, LexicalSearcher, bm25_idf
from sleuth.store import Counts, Hits, Row, StoredDocument, best_hits, no_hits
from sleuth.types import PartReport, RetrievedItem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.dense import DenseLeg
    from sleuth.engine import Asked, QueryCondition
    from sleuth.filters import Filter
    from sleuth.lexical import LexicalLeg
    from sleuth.remote import Deadline
    from sleuth.types import Chunk, Explanation

T = TypeVar("T")

_MOST_TOKENS = 1 << 20
"""Tokens whose frequencies are kept for one version."""


class Scatter(Protocol):
    """Runs a call for each of some shards."""

    def __call__(self, calls: Mapping[str, Callable[[], T]]) -> tuple[dict[str, T], list[PartReport]]:
        """Return the results of the shards that answered, by name, and a report of each that did not."""
        ...


def one_by_one(calls: Mapping[str, Callable[[], T]]) -> tuple[dict[str, T], list[PartReport]]:
    """Run the calls one after the other, in this thread; what one raises is raised."""
    return {name: call() for name, call in calls.items()}, []


@dataclass(frozen=True)
class GatheredSnapshot:
    """One version of every shard, for the length of a block; reads as a `Snapshot` of one index does.

    A key holds the number of its shard and the key there.

    Attributes:
        shards: by number.
        names: of the shards, as reports name them.
        scatter: how calls reach them.
    """

    shards: Sequence[Shard]
    names: Sequence[str]
    scatter: Scatter = one_by_one

    @property
    def version(self) -> int:
        """Grows with every commit of a shard."""
        return sum(shard.version for shard in self.shards)

    @property
    def versions(self) -> tuple[int, ...]:
        """The version of each shard."""
        return tuple(shard.version for shard in self.shards)

    @property
    def generation(self) -> tuple[int, ...]:
        """Equal ones are of equal versions and have equal segments too."""
        return tuple(shard.generation for shard in self.shards)

    # --- rows by key

    def _by_shard(self, keys: Iterable[int]) -> dict[int, list[int]]:
        """Return the keys of each shard there, by its number."""
        local: dict[int, list[int]] = {}
        for key in keys:
            local.setdefault(key >> KEY_BITS, []).append(key & ((1 << KEY_BITS) - 1))
        return local

    def _gathered(self, keys: Sequence[int], values_of: Callable[[Shard, list[int]], Sequence[T]]) -> list[T]:
        """Return a value for each key, in order; each shard is asked for its own."""
        local = self._by_shard(keys)
        results, failures = self.scatter(
            {
                self.names[number]: partial(values_of, self.shards[number], some)
                for number, some in local.items()
            }
        )
        if failures:
            raise RetrievalError(
                "; ".join(f"{part.name} {part.status}: {part.error}" for part in failures),
                context={"parts": [part.to_dict() for part in failures]},
            )
        streams = {number: iter(results[self.names[number]]) for number in local}
        return [next(streams[key >> KEY_BITS]) for key in keys]

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """For each key (document id, n): the order by which ties break."""
        return self._gathered(list(map(int, keys)), lambda shard, some: shard.order(some))

    def ids(self, keys: Iterable[int]) -> list[str]:
        """The chunk ids of these keys, in this order."""
        return [f"{document_id}#{n}" for document_id, n in self.order(keys)]

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """The chunks with these keys, in this order."""
        numbers = list(map(int, keys))
        rows = self._gathered(numbers, lambda shard, some: shard.rows(some))
        return [row._replace(key=key) for key, row in zip(numbers, rows, strict=True)]

    def items(self, keys: Iterable[int], scores: Iterable[float]) -> list[RetrievedItem]:
        """The same as hits with these scores."""
        return [
            RetrievedItem(id=row.id, text=row.text, metadata=dict(row.metadata), score=score)
            for row, score in zip(self.rows(keys), scores, strict=True)
        ]

    def match(self, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """How well rows match the tokens of a query, shape (len(keys),)."""
        return np.array(
            self._gathered(
                keys.tolist(), lambda shard, some: shard.match(query, np.array(some, np.int64)).tolist()
            ),
            np.float64,
        )

    def neighbours(self, key: int, before: int = 1, after: int = 1) -> list[Row]:
        """The chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        number = key >> KEY_BITS
        return _global(number, self.shards[number].neighbours(key & ((1 << KEY_BITS) - 1), before, after))

    # --- documents

    def _shard_of(self, document_id: str) -> int:
        return shard_of(document_id, len(self.shards))

    def key_of(self, chunk_id: str) -> int | None:
        """The key of the chunk `document_id#n`; None where there is none."""
        number = self._shard_of(chunk_id.rpartition("#")[0])
        key = self.shards[number].key_of(chunk_id)
        return None if key is None else number << KEY_BITS | key

    def chunks_of(self, document_id: str) -> list[Row]:
        """All chunks of a document, in order; empty where there is no such document."""
        number = self._shard_of(document_id)
        return _global(number, self.shards[number].chunks_of(document_id))

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents, shard by shard; with `under`, those whose source is this path or lies below it."""
        return chain.from_iterable(shard.documents(under) for shard in self.shards)

    def chunk_values(self, document_id: str) -> list[Chunk]:
        """All chunks of a document as they were put."""
        return self.shards[self._shard_of(document_id)].chunk_values(document_id)

    def document(self, document_id: str) -> StoredDocument | None:
        """A document without its text; None where there is none."""
        return self.shards[self._shard_of(document_id)].document(document_id)

    def documents_at(self, keys: Iterable[int]) -> list[StoredDocument]:
        """The documents with these keys, in this order."""
        return self._gathered(list(map(int, keys)), lambda shard, some: shard.documents_at(some))

    def by_id(self, after: str = "") -> Iterator[tuple[int, str]]:
        """Keys and ids of documents whose id comes after this one, in order of id."""
        streams = [_global_ids(number, shard.by_id(after)) for number, shard in enumerate(self.shards)]
        return merge(*streams, key=_id_of)

    def notes(self) -> dict[str, str]:
        """What `Writer.note` was told, by name."""
        return {name: value for shard in self.shards for name, value in shard.notes().items()}

    def counts(self) -> Counts:
        """How many documents and chunks."""
        return Counts(*map(sum, zip(*(shard.counts() for shard in self.shards), strict=True)))

    def uncovered(self, leg: str) -> int:
        """How many chunks no segment of this leg holds."""
        return sum(shard.uncovered(leg) for shard in self.shards)


def _global_ids(number: int, ids: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    return ((number << KEY_BITS | key, name) for key, name in ids)


def _global(number: int, rows: Sequence[Row]) -> list[Row]:
    return [row._replace(key=number << KEY_BITS | row.key) for row in rows]


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
        version: the version of each shard.
        legs: names of the legs that rank, in order.
        corpus: the statistics of all shards.
    """

    def __init__(self, snapshot: GatheredSnapshot, lexical: LexicalLeg, dense: DenseLeg | None) -> None:
        """Searchers of all shards, whose legs these are."""
        self.version = snapshot.version
        self._versions = snapshot.versions
        # Without segments: they analyse and embed queries.
        self._dense = None if dense is None else DenseSearcher(dense, [])
        self.legs = LEGS if dense is not None else LEGS[:1]
        results, self._failures = snapshot.scatter(
            {name: shard.lengths for name, shard in zip(snapshot.names, snapshot.shards, strict=True)}
        )
        statistics = summed(results.values())
        names = {*lexical.fields, *statistics}
        self.corpus = Corpus(statistics, {name: dict[str, int]() for name in names})
        self._lexical = LexicalSearcher(lexical, [], corpus=self.corpus)

    def show(self, snapshot: GatheredSnapshot) -> bool:
        """Whether these are the searchers of a snapshot, with the statistics of all its shards."""
        few = sum(map(len, self.corpus.frequencies.values())) < _MOST_TOKENS
        return self._versions == snapshot.versions and not self._failures and few

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
        """The best `k` rows of all shards that match the filter; see `Searchers.search`."""
        return rank(
            GatheredVersion(self, snapshot, deadline),
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
        """The best `k` rows of all shards by the cosine with a vector."""
        request = PoolRequest(k, tree, False, True, exact)
        hits, failures = self.gather({"dense": vector}, request, snapshot)
        if failures:
            raise RetrievalError(
                "; ".join(f"{part.name} {part.status}: {part.error}" for part in failures),
                context={"parts": [part.to_dict() for part in failures]},
            )
        return hits["dense"]

    def idf(self, terms: Iterable[str], snapshot: GatheredSnapshot) -> dict[str, float]:
        """Return BM25's idf of each term, in the field where most rows hold it."""
        names = list(terms)
        self._count(dict.fromkeys(self.corpus.frequencies, names), snapshot)
        n = max((statistics.n for statistics in self.corpus.statistics.values()), default=0)
        return {
            term: min(
                [bm25_idf(0, n)]
                + [
                    bm25_idf(df, self.corpus.statistics[field].n)
                    for field, counts in self.corpus.frequencies.items()
                    if (df := counts[term])
                ]
            )
            for term in names
        }

    def ask(self, leg: str, query: str, deadline: Deadline | None) -> Asked:
        """Return what each shard is asked: the query's vector, made once, or its words.

        Raises:
            TimeoutError: the embedder did not answer before the deadline.
        """
        if leg == "dense" and self._dense is not None:
            return embedded(self._dense, query, deadline)
        return query

    def select(
        self, snapshot: GatheredSnapshot, tree: Filter | None, *, query: str | None = None
    ) -> GatheredSelection:
        """The rows of all shards that match a filter and hold a word of the query, to be counted."""
        return GatheredSelection([shard.select(tree, query) for shard in snapshot.shards])

    def key_names(self, snapshot: GatheredSnapshot, scope: Filter | None) -> frozenset[str]:
        """The metadata keys of what a filter lets through."""
        return frozenset[str]().union(*(shard.key_names(scope) for shard in snapshot.shards))

    def knowledge(self, query: str) -> float:
        """How well the embedder knows the language of a query."""
        return self._dense.leg.knowledge(query) if self._dense is not None else 1.0

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score."""
        return self._dense.leg.token_weight if self._dense is not None else 0.0

    def gather(
        self, asked: Mapping[str, Asked], request: PoolRequest, snapshot: GatheredSnapshot
    ) -> tuple[dict[str, Hits], list[PartReport]]:
        """Return the best rows of each leg over all shards, and a report of each shard that did not answer."""
        failures = list(self._failures)
        if isinstance(query := asked.get("lexical"), str):
            failures += self._count(self._lexical.analyse(query), snapshot)
        lost = {part.name for part in failures}
        # Ties within a shard are put in order here, with those of other shards.
        ask = Ask(asked, replace(request, ordered=False), self.corpus)
        results, more = snapshot.scatter(
            {
                name: partial(shard.pools, ask)
                for name, shard in zip(snapshot.names, snapshot.shards, strict=True)
                if name not in lost
            }
        )
        numbers = {name: number for number, name in enumerate(snapshot.names)}
        pools = {numbers[name]: pools for name, pools in results.items()}
        hits = {
            leg: merged({number: some[leg] for number, some in pools.items()}, request, snapshot)
            for leg in asked
        }
        return hits, failures + more

    def _count(self, tokens: Mapping[str, Iterable[str]], snapshot: GatheredSnapshot) -> list[PartReport]:
        """Sum how many rows of each shard hold these tokens, for those that are not known yet."""
        frequencies: Any = self.corpus.frequencies
        unknown = {
            field: [token for token in some if token not in frequencies[field]]
            for field, some in tokens.items()
        }
        if not any(unknown.values()):
            return []
        results, failures = snapshot.scatter(
            {
                name: partial(shard.frequencies, unknown)
                for name, shard in zip(snapshot.names, snapshot.shards, strict=True)
            }
        )
        for field, some in unknown.items():
            held = [result[field] for result in results.values() if field in result]
            counts = {token: sum(df[token] for df in held) for token in some}
            frequencies[field] |= counts
        if failures:  # the sums lack a shard: the next query asks again
            self._failures = failures
        return failures


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
    deadline: Deadline | None = None

    @property
    def token_weight(self) -> float:
        """What matching tokens may add to a fused score."""
        return self.searchers.token_weight

    def knowledge(self, query: str) -> float:
        """How well the embedder knows the language of a query."""
        return self.searchers.knowledge(query)

    def pools(self, query: str, legs: Sequence[str], request: PoolRequest) -> Pools:
        """The best rows of each leg over all shards, which are asked for all legs at once."""
        asked: dict[str, Asked] = {}
        parts: dict[str, PartReport] = {}
        started = time.perf_counter()
        for leg in legs:
            try:
                asked[leg] = self.searchers.ask(leg, query, self.deadline)
                check_in_time(self.deadline)
            except TimeoutError as error:
                asked.pop(leg, None)
                parts[leg] = PartReport(leg, "abandoned", time.perf_counter() - started, error=str(error))
            except EmbeddingError as error:
                if len(legs) == 1:
                    raise
                seconds = time.perf_counter() - started
                parts[leg] = PartReport(leg, "failed", seconds, error=str(error), exception=error)
        hits, failures = self.searchers.gather(asked, request, self.snapshot)
        seconds = time.perf_counter() - started
        parts |= {leg: PartReport(leg, "ok", seconds, len(some)) for leg, some in hits.items()}
        return Pools(asked, hits, [*(parts[leg] for leg in legs), *failures])

    def order(self, keys: NDArray[np.int64]) -> Sequence[Any]:
        """The tie-break order of these keys."""
        return self.snapshot.order(keys.tolist())

    def match(self, query: str, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """How well rows match the tokens of the query."""
        return self.snapshot.match(query, keys)

    def explain(self, leg: str, asked: Asked, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        shard = self.snapshot.shards[key >> KEY_BITS]
        return shard.explain(asked, key & ((1 << KEY_BITS) - 1), self.searchers.corpus)


class GatheredOfNewest:
    """The searchers of the newest version of all shards that was asked for. Thread-safe."""

    def __init__(self, lexical: LexicalLeg, dense: DenseLeg | None) -> None:
        self._legs = lexical, dense
        self._searchers: GatheredSearchers | None = None
        self._making = Lock()

    def of(self, snapshot: GatheredSnapshot) -> GatheredSearchers:
        """The searchers of a snapshot."""
        searchers = self._searchers
        if searchers is None or not searchers.show(snapshot):
            with self._making:
                searchers = self._searchers = GatheredSearchers(snapshot, *self._legs)
        return searchers

    def forget(self) -> None:
        """Let go of them."""
        self._searchers = None


def _id_of(entry: tuple[int, str]) -> str:
    _, document_id = entry
    return document_id
