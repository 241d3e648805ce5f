"""Searchers of one version of all shards, which gather their rankings into that of one index."""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sleuth.cluster.shards.layout import KEY_BITS, LOCAL
from sleuth.cluster.shards.shard import Ask, ShardsMissingError
from sleuth.engine.legs import legs_that_rank
from sleuth.engine.search import PoolRequest, matchers_of, vector_leg, words_among
from sleuth.engine.selection import Count, Facet, MetadataKey, ordered_types
from sleuth.store import Corpus, Hits, best_hits
from sleuth.store.legs.searching import Tally, greatest
from sleuth.text.analyzers import readings
from sleuth.types import PartReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.cluster.shards.snapshot import GatheredSnapshot
    from sleuth.engine.completions import Completions
    from sleuth.engine.queries import QueryCondition
    from sleuth.filters import Filter
    from sleuth.filters.tree import Scalar
    from sleuth.remote import Deadline
    from sleuth.store import LegSearcher
    from sleuth.store.legs.searching import IndexLeg
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
        by_leg: searchers without segments, which turn queries into the form that shards are asked in.
        matchers: what compares the best rows of a fused ranking once more, by the leg that has it.
        corpora: by leg, the numbers of all shards.
        word_leg, words: the leg that knows which words rows hold, and its searcher without segments.
        completions: what is completed; None until that is asked for.
        asks_together: whether all legs are asked at once; they are, since each question goes to all shards.
        is_cut: whether documents may have several passages.
    """

    asks_together = is_cut = True

    def __init__(self, snapshot: GatheredSnapshot, legs: Sequence[IndexLeg]) -> None:
        """Searchers of all shards."""
        self.version = snapshot.version
        self._generation = snapshot.generation
        self.legs = legs_that_rank(legs)
        totals = snapshot.try_all("totals")
        self._failures = totals.failures
        self.corpora = {
            leg: Corpus(summed(part[leg] for part in totals.values.values() if leg in part))
            for leg in self.legs
        }
        # Without segments: they turn queries into the form that shards are asked in.
        self.by_leg: dict[str, LegSearcher[Any]] = {
            name: leg.searcher([], corpus=self.corpora[name]) for name, leg in self.legs.items()
        }
        self.matchers = matchers_of(self.by_leg)
        self.word_leg, self.words = words_among(self.by_leg)
        self._without_words = {leg: Corpus(corpus.totals) for leg, corpus in self.corpora.items()}
        self._name = uuid.uuid4().hex
        self._key_names: frozenset[str] | None = None
        self.completions: Completions | None = None

    def show(self, snapshot: GatheredSnapshot) -> bool:
        """Return whether these are the searchers of a snapshot, with the numbers of all its shards."""
        counts = sum(len(group) for corpus in self.corpora.values() for group in corpus.counts.values())
        is_same = self._generation == snapshot.shards.generation
        return is_same and not self._failures and counts < _MOST_COUNTS

    def until(self, snapshot: GatheredSnapshot, deadline: Deadline) -> GatheredSnapshot:
        """Return a snapshot with a deadline for its shards."""
        return snapshot.until(deadline)

    def match(
        self, leg: str, query: str, keys: NDArray[np.int64], snapshot: GatheredSnapshot
    ) -> NDArray[np.float64]:
        """Return how well rows match the query, as the matcher of a leg says, shape (len(keys),)."""
        return snapshot.match(leg, query, keys)

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
        request = PoolRequest(k, tree, certainty=1.0, ordered=True, exact=exact)
        return self._alone(vector_leg(self.legs), vector, request, snapshot)

    def _alone(self, leg: str, query: Any, request: PoolRequest, snapshot: GatheredSnapshot) -> Hits:
        """Return the best rows of one leg over all shards."""
        hits, failures = self.gather({leg: query}, request, snapshot)
        if failures:
            raise ShardsMissingError(failures)
        return hits[leg]

    def lookup(
        self, conditions: tuple[QueryCondition, ...], tree: Filter | None, snapshot: GatheredSnapshot
    ) -> list[int]:
        """Keys of all rows that fulfil conditions and match a filter, by document id and place."""
        parts = snapshot.ask_all("lookup", conditions, tree)
        keys = [
            key | number << KEY_BITS for number, keys_of_shard in enumerate(parts) for key in keys_of_shard
        ]
        order = dict(zip(keys, snapshot.order(keys), strict=True))
        return sorted(keys, key=order.__getitem__)

    def fulfils(self, condition: QueryCondition, snapshot: GatheredSnapshot) -> bool:
        """Return whether any row of a shard fulfils a condition."""
        return any(snapshot.ask_all("fulfils", condition))

    def held(self, tokens: Iterable[str], snapshot: GatheredSnapshot) -> list[str]:
        """Return the tokens that the text of a row holds, in order."""
        names = list(tokens)
        self._count({self.word_leg: dict.fromkeys(self.words.groups(), names)}, snapshot)
        if self._failures:
            raise ShardsMissingError(self._failures)
        counts = self.corpora[self.word_leg].counts[next(iter(self.words.groups()))]
        return list(filter(counts.__getitem__, names))

    def unheld(self, text: str, snapshot: GatheredSnapshot) -> list[str]:
        """Return the words of a text that no row holds, whatever its language, in order, without compounds."""
        analyzer = self.words.analyzer
        words = analyzer.unheld(text, {*self.held(analyzer.tokens(text), snapshot)})
        analyzers = list(map(self.words.analyzer_of, self.words.groups()))
        tokens_by_word = {word: readings(word, analyzers) for word in words}
        names = set[str]().union(*tokens_by_word.values())
        self._count({self.word_leg: dict.fromkeys(self.words.groups(), names)}, snapshot)
        counts = self.corpora[self.word_leg].counts.values()
        held_tokens = {token for token in names if not token or any(group.get(token) for group in counts)}
        return [word for word in words if held_tokens.isdisjoint(tokens_by_word[word])]

    def like(self, word: str, edits: int, most: int, snapshot: GatheredSnapshot) -> Tally:
        """Return the words that are written like one, by group, with the rows of all shards that hold each."""
        totals = summed(snapshot.ask_all("like", word, edits, _ALL))  # one with few rows here may have many
        return {group: greatest(numbers, most) for group, numbers in totals.items()}

    def best_with(self, token: str, k: int, snapshot: GatheredSnapshot, group: str = "") -> list[int]:
        """Return the keys of the best `k` rows of all shards whose text holds a token of a group of words."""
        request = PoolRequest(k, None, certainty=1.0, ordered=False, exact=False)
        hits = self._alone(self.word_leg, self.words.word(token, group), request, snapshot)
        return list(hits.keys.tolist())

    def idf(self, terms: Iterable[str], snapshot: GatheredSnapshot) -> dict[str, float]:
        """Return how rare each term is among the rows of all shards."""
        names = list(terms)
        self._count({self.word_leg: dict.fromkeys(self.words.groups(), names)}, snapshot)
        return self.words.idf(names)

    def select(
        self, snapshot: GatheredSnapshot, tree: Filter | None, *, query: str | None = None
    ) -> GatheredSelection:
        """Return the rows of all shards that match a filter and hold a word of the query, to be counted."""
        return GatheredSelection(snapshot, tree, query)

    def has_word(self, query: str, snapshot: GatheredSnapshot) -> bool:
        """Return whether a row of any shard holds a word of the query."""
        return self.select(snapshot, None, query=query).count().passages > 0

    def metadata_keys(self, snapshot: GatheredSnapshot, tree: Filter | None) -> list[MetadataKey]:
        """Return the metadata keys of the documents of all shards that match a filter."""
        return self.select(snapshot, tree).metadata_keys()

    def key_names(self, snapshot: GatheredSnapshot) -> frozenset[str]:
        """Return the metadata keys of the documents of all shards."""
        names = self._key_names
        if names is None:
            answers = snapshot.try_all("key_names")
            names = frozenset[str]().union(*answers.values.values())
            if not answers.failures:
                self._key_names = names
        return names

    def gather(
        self, queries: Mapping[str, Any], request: PoolRequest, snapshot: GatheredSnapshot
    ) -> tuple[dict[str, Hits], list[PartReport]]:
        """Return the best rows of each leg over all shards, and a report of each shard that did not answer.

        Each shard is asked for its fair share and some more; one whose answer may go on among the best is asked again
        for all.

        Raises:
            ShardsMissingError: no shard answers.
        """
        words = {leg: self.by_leg[leg].names(query) for leg, query in queries.items()}
        failures = [*self._failures, *self._count(words, snapshot)]
        names = snapshot.shards.names
        lost = {names.index(part.name) for part in failures} if failures else ()
        # Ties within a shard are put in order here, with those of other shards.
        full_question = self._ask_of(queries, request._replace(ordered=False))
        depth = share_of(request.depth, len(names))
        share = replace(full_question, request=full_question.request._replace(depth=depth))
        answers = snapshot.try_all("search", share, without=lost)
        failures += answers.failures
        if not answers.values:
            raise ShardsMissingError(failures)
        pools: dict[int, dict[str, Hits]] = answers.values
        hits = merged(pools, queries, request, snapshot)
        if unsure := unsure_shards(pools, depth, hits, request.depth):
            again = snapshot.try_some("search", dict.fromkeys(unsure, (full_question,)))
            failures += again.failures
            hits = merged(pools | again.values, queries, request, snapshot)
        return hits, failures

    def _ask_of(self, queries: Mapping[str, Any], request: PoolRequest) -> Ask:
        """Return what shards are asked, with the numbers of the words; words that no row holds are left out."""
        forms, corpora = dict(queries), dict(self._without_words)
        for leg, searcher in self.by_leg.items():
            if leg in queries and self.corpora[leg].counts:
                forms[leg] = searcher.present(queries[leg])
                counts = self.corpora[leg].counts
                numbers = {
                    group: dict(zip(names, map(counts[group].__getitem__, names), strict=True))
                    for group, names in searcher.names(forms[leg]).items()
                }
                corpora[leg] = Corpus(self.corpora[leg].totals, numbers)
        return Ask(forms, request, self._name, corpora)

    def explain(self, snapshot: GatheredSnapshot, leg: str, query: Any, key: int) -> Explanation:
        """Why a leg gives this row its score."""
        ask = self._ask_of({leg: query}, PoolRequest(1, None, certainty=1.0, ordered=False, exact=False))
        number = key >> KEY_BITS
        answers = snapshot.try_some("explain", {number: (ask, leg, key & LOCAL)})
        if answers.failures:
            raise ShardsMissingError(answers.failures)
        explanation: Explanation = answers.values[number]
        return explanation

    def _count(
        self, words: Mapping[str, Mapping[str, Collection[str]]], snapshot: GatheredSnapshot
    ) -> list[PartReport]:
        """Sum the counts of all shards that are not known yet, by leg and group."""
        unknown_words: dict[str, dict[str, list[str]]] = {}
        for leg, groups in words.items():
            counts = self.corpora[leg].counts
            for group, names in groups.items():
                group_counts = counts.setdefault(group, {})
                if unknown_names := set(names).difference(group_counts):
                    unknown_words.setdefault(leg, {})[group] = sorted(unknown_names)
        if not unknown_words:
            return []
        answers = snapshot.try_all("counts_of", unknown_words)
        for leg, groups in unknown_words.items():
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


def unsure_shards(
    pools: Mapping[int, Mapping[str, Hits]], limit: int, best: Mapping[str, Hits], depth: int
) -> list[int]:
    """Return the shards of which rows beyond the `limit` that they gave may be among the best `depth` of a leg."""
    if limit >= depth:
        return []
    unsure = set[int]()
    for leg, hits in best.items():
        lowest_score = hits.scores[-1] if len(hits.scores) >= depth else -math.inf
        for number, by_leg in pools.items():
            scores = by_leg[leg].scores
            if len(scores) >= limit and scores[-1] >= lowest_score:
                unsure.add(number)
    return sorted(unsure)


class _Candidates(NamedTuple):
    """The best rows of a leg over all shards and what ties with the last of them, best first; ties in any order."""

    keys: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def of(cls, pools: Mapping[int, Mapping[str, Hits]], leg: str, depth: int) -> _Candidates:
        """Return the candidates among the rows of shards, which are named by the keys there."""
        keys_of, scores_of = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for number, by_leg in pools.items():
            keys_of.append(by_leg[leg].keys | number << KEY_BITS)
            scores_of.append(by_leg[leg].scores)
        keys, scores = np.concatenate(keys_of), np.concatenate(scores_of)
        order = np.argsort(-scores, kind="stable")
        if len(order) > depth:
            order = order[: int(np.count_nonzero(scores >= scores[order[depth - 1]]))]
        return cls(keys[order], scores[order])

    def tied(self, depth: int, *, ordered: bool) -> list[int]:
        """Return the keys of all rows that tie with another one, or none where their order does not matter.

        It matters where the ranking must be in order (`ordered`), or where more rows than `depth` are left, so that a
        tie decides which row is the last.
        """
        if len(self.scores) <= (0 if ordered else depth):
            return []
        is_equal = np.zeros(len(self.scores) + 1, np.bool_)
        np.equal(self.scores[1:], self.scores[:-1], out=is_equal[1:-1])
        return self.keys[is_equal[1:] | is_equal[:-1]].tolist()  # type: ignore[no-any-return]


def merged(
    pools: Mapping[int, Mapping[str, Hits]],
    legs: Iterable[str],
    request: PoolRequest,
    snapshot: GatheredSnapshot,
) -> dict[str, Hits]:
    """Return the best rows of each leg over all shards, ties by id, whose names are read for all legs at once.

    Args:
        pools: by number of the shard and leg, with the keys there.
    """
    depth, ordered = request.depth, request.ordered
    by_leg: dict[str, _Candidates] = {}
    tied: list[int] = []
    for leg in legs:
        candidates = by_leg[leg] = _Candidates.of(pools, leg, depth)
        tied += candidates.tied(depth, ordered=ordered)
    if tied:
        snapshot.order(dict.fromkeys(tied))
    hits: dict[str, Hits] = {}
    for leg, (keys, scores) in by_leg.items():
        # Each row counts as a segment of its own, so that all ties are put in order, those within a shard too.
        places = np.arange(len(keys), dtype=np.int32)
        hits[leg] = best_hits(places, keys, scores, bool(tied), depth, snapshot.order, ordered=ordered)
    return hits


_ALL = 1 << 62


@dataclass(frozen=True)
class GatheredSelection:
    """What is selected of all shards; answers as a `Selection` of one index does. No document is in two shards.

    Attributes:
        tree: a filter; None for all.
        query: one of its words must be held; None for all.
    """

    snapshot: GatheredSnapshot
    tree: Filter | None
    query: str | None

    def _ask(self, question: str, *arguments: Any) -> list[Any]:
        """Return each shard's answer about its own selection, by number."""
        return self.snapshot.ask_all("selected", self.tree, self.query, question, *arguments)

    def count(self) -> Count:
        """Count what is selected."""
        counts = self._ask("count")
        return Count(sum(count.documents for count in counts), sum(count.passages for count in counts))

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of the documents, ascending."""
        return np.concatenate(
            [keys | number << KEY_BITS for number, keys in enumerate(self._ask("document_keys"))]
        )

    def facets(self, key: str, limit: int) -> list[Facet]:
        """Return the values of a metadata key, the most frequent first, equal ones by value."""
        totals: Counter[tuple[type, Scalar]] = Counter()  # True and 1 are two values
        for facets_of_shard in self._ask("facets", key, _ALL):
            for facet in facets_of_shard:
                totals[type(facet.value), facet.value] += facet.documents
        facets = (Facet(value, documents) for (_, value), documents in totals.items())
        return nsmallest(limit, facets, lambda facet: (-facet.documents, str(facet.value)))

    def metadata_keys(self) -> list[MetadataKey]:
        """Return the metadata keys of the selection, by name."""
        keys_by_name: dict[str, MetadataKey] = {}
        for keys in self._ask("metadata_keys"):
            for key in keys:
                known_key = keys_by_name.get(key.name, MetadataKey(key.name, (), 0))
                types = ordered_types([*known_key.types, *key.types])
                keys_by_name[key.name] = MetadataKey(key.name, types, known_key.documents + key.documents)
        return [keys_by_name[name] for name in sorted(keys_by_name)]
