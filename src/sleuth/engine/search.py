"""Runs the legs of a query and fuses their hits into one ranking."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from operator import and_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sleuth.columns.column import naming_damage, read_column, scalar_rows, values_of
from sleuth.columns.leg import ColumnsLeg
from sleuth.columns.search import ColumnsSearcher, align
from sleuth.engine.fusion import MOST
from sleuth.engine.legs import legs_that_rank
from sleuth.engine.narrowing import SCOPES, NarrowedSnapshot, Narrowing, Scope
from sleuth.engine.queries import values_with
from sleuth.errors import ArgumentError
from sleuth.remote import check_cancelled
from sleuth.store import LegRequest, unpack
from sleuth.store.legs.leg import pack
from sleuth.store.legs.recent import RecentValues
from sleuth.store.legs.searching import TermSearcher
from sleuth.types import Explanation, PartReport

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sleuth.engine.completions import Completions
    from sleuth.engine.queries import QueryCondition
    from sleuth.engine.selection import MetadataKey, Selection
    from sleuth.filters import Filter
    from sleuth.remote import Deadline
    from sleuth.store import Corpus, Hits, IndexSnapshot, LegSearcher, RankingLeg
    from sleuth.store.legs.leg import Bitmap
    from sleuth.store.legs.searching import IndexLeg, RowMatcher, Tally

ALIGNED = 32
"""Filters kept as bitmaps over the segments of a leg; a million rows take 125 kB."""
_PIECE = 1 << 12
"""Passages that are read at a time to look for a phrase."""
LIKE = 1 << 10
"""Words of queries for which the words that are written like them are kept: most take less than a kilobyte."""


class PoolRequest(NamedTuple):
    """What each leg is asked for.

    Attributes:
        depth: rows wanted of each leg, 1 or more.
        tree: which rows may answer; None for all.
        certainty: how sure a leg that estimates must be of its last rows, from 0, where they are fused, to 1.
        ordered: whether equal scores must be in order of id; ids always decide ties at the end of the pool.
        exact: whether every row is scored, instead of dropping some by an estimate.
        conditions: what rows must fulfil beside the filter.
    """

    depth: int
    tree: Filter | None
    certainty: float
    ordered: bool
    exact: bool
    conditions: tuple[QueryCondition, ...] = ()


class Searchers:
    """The searchers of one version, shared by all threads.

    Attributes:
        version, generation: of the snapshot that they were made from.
        legs: the legs that rank, by name, in order.
        by_leg: their searchers.
        matchers: what compares the best rows of a fused ranking once more, by the leg that has it.
        word_leg, words: the leg that knows which words rows hold, and its searcher.
        columns: filters rows.
        completions: what is completed; None until that is asked for.
        alone: the searchers that score with the numbers of this index alone; these themselves where they are.
        asks_together: whether all legs are asked at once.
        is_cut: whether documents may have several passages, of which some give way; of use to decide how deep to rank.
    """

    asks_together = False

    def __init__(
        self,
        snapshot: IndexSnapshot,
        legs: Sequence[IndexLeg],
        previous: Searchers | None = None,
        corpora: Mapping[str, Corpus] = MappingProxyType({}),
    ) -> None:
        """Searchers of the snapshot's segments; what did not change since `previous` is taken from it.

        Args:
            legs: of the index.
            corpora: by leg, what the index is a part of; empty for a whole index.
        """
        self.version, self.generation = snapshot.version, snapshot.generation
        self._all = tuple(legs)
        self.legs = legs_that_rank(legs)
        self._views = {leg.name: snapshot.segments(leg.name) for leg in legs}
        # Else made for each query.
        self._keys = [view.keys for views in self._views.values() for view in views]
        self.by_leg: dict[str, LegSearcher[Any]] = {
            name: leg.searcher(
                self._views[name],
                previous=previous.by_leg.get(name) if previous else None,
                corpus=corpora.get(name),
            )
            for name, leg in self.legs.items()
        }
        self.matchers = matchers_of(self.by_leg)
        self.word_leg, self.words = words_among(self.by_leg)
        self._like = lru_cache(LIKE)(self.words.like)
        counts = snapshot.counts() if snapshot.scope is None else None
        self.is_cut = counts is None or counts.chunks > counts.documents
        (filtering,) = (leg for leg in legs if isinstance(leg, ColumnsLeg))
        self._filtering = filtering.name
        self.columns: ColumnsSearcher = filtering.searcher(
            self._views[filtering.name], previous.columns if previous else None
        )
        self._aligned: dict[tuple[Filter, str], list[Bitmap]] = {}
        self._fulfilled: dict[tuple[QueryCondition, ...], NDArray[np.int64]] = {}
        self._key_names: frozenset[str] | None = None
        self.completions: Completions | None = None
        self._metadata_keys: dict[Filter | None, list[MetadataKey]] = {}
        self._documents: NDArray[np.int64] | None = None
        self.alone = self
        self._narrowings: RecentValues[Filter, Narrowing] = RecentValues(SCOPES)
        self._narrowings_before = previous._narrowings if previous else self._narrowings

    def within(self, corpora: Mapping[str, Corpus], snapshot: IndexSnapshot) -> Searchers:
        """Searchers of the same version that score with the numbers of larger corpora, by leg."""
        searchers = Searchers(snapshot, self._all, self, corpora)
        searchers.alone = self.alone
        return searchers

    def narrow(self, snapshot: IndexSnapshot, scope: Scope) -> NarrowedSnapshot:
        """Return a snapshot of this version as a scope narrows it."""
        narrowing = self._narrowings.get(scope.filter)
        if narrowing is None:
            allowed = {leg: self.allowed(scope.filter, leg) or () for leg in self._views}
            former_narrowing = self._narrowings_before.get(scope.filter)
            narrowing = Narrowing(self._views, allowed, self._filtering, former_narrowing)
            self._narrowings.put(scope.filter, narrowing)
        return NarrowedSnapshot(
            snapshot, scope, narrowing, lambda: self.select(snapshot, scope.filter).document_keys()
        )

    def of_scope(self, snapshot: NarrowedSnapshot, previous: Searchers | None) -> Searchers:
        """Searchers of this version as a scope narrows it; filters are the same rows there."""
        searchers = Searchers(snapshot, self._all, previous or self)
        searchers._aligned = self._aligned
        return searchers

    def show(self, snapshot: IndexSnapshot) -> bool:
        """Return whether these are the searchers of a snapshot: of its rows, in its segments."""
        if self.generation == snapshot.generation:
            return True
        if self.version != snapshot.version or any(
            [view.name for view in views] != [view.name for view in snapshot.segments(leg)]
            for leg, views in self._views.items()
        ):
            return False
        # Other parts of the record have changed, such as cached vectors.
        self.generation = snapshot.generation
        return True

    def until(self, snapshot: IndexSnapshot, deadline: Deadline) -> IndexSnapshot:
        """Give a snapshot a deadline, and return it."""
        snapshot.check_time = deadline.check
        return snapshot

    def has_word(self, query: str, snapshot: IndexSnapshot) -> bool:
        """Return whether a row holds a word of the query."""
        return len(self.words.pool(self.words.ask(query), LegRequest(1, None, ordered=False))) > 0

    def holding(self, query: Any, tree: Filter | None = None) -> NDArray[np.int64]:
        """Keys of all rows that hold a word of a query, in the form of its leg, and match a filter."""
        allowed = self.allowed(tree, self.word_leg)
        return self.words.pool(query, LegRequest(MOST, allowed, ordered=False)).keys

    def select(self, snapshot: IndexSnapshot, tree: Filter | None, *, query: str | None = None) -> Selection:
        """Return the rows that match a filter and hold a word of the query, to be counted."""
        from sleuth.engine.selection import Selection

        among = None if query is None else self.holding(self.words.ask(query), tree)
        return Selection(snapshot, self.columns, self.document_keys(snapshot), tree, among=among)

    def document_keys(self, snapshot: IndexSnapshot) -> NDArray[np.int64]:
        """Keys of all documents, ascending, shape (documents,)."""
        if self._documents is None:
            self._documents = snapshot.document_keys()
        return self._documents

    def metadata_keys(self, snapshot: IndexSnapshot, tree: Filter | None) -> list[MetadataKey]:
        """Return the metadata keys of the documents that match a filter."""
        keys = self._metadata_keys.get(tree)
        if keys is None:
            if len(self._metadata_keys) >= ALIGNED:
                self._metadata_keys.clear()
            keys = self._metadata_keys[tree] = self.select(snapshot, tree).metadata_keys()
        return list(keys)

    def key_names(self, snapshot: IndexSnapshot) -> frozenset[str]:
        """Return the metadata keys of the documents."""
        if self._key_names is None:
            names = self.columns.keys()
            if snapshot.scope is not None:  # columns hold those of other rows, too
                names = [key.name for key in self.metadata_keys(snapshot, None)]
            self._key_names = frozenset(names)
        return self._key_names

    def nearest(
        self,
        vector: NDArray[np.float32],
        k: int,
        tree: Filter | None,
        *,
        snapshot: IndexSnapshot,
        exact: bool = False,
    ) -> Hits:
        """Return the best `k` rows for a vector, by the leg that takes one."""
        leg = vector_leg(self.legs)
        return self.gather({leg: vector}, PoolRequest(k, tree, 1.0, True, exact), snapshot)[0][leg]

    def match(
        self, leg: str, query: str, keys: NDArray[np.int64], snapshot: IndexSnapshot
    ) -> NDArray[np.float64]:
        """Return how well rows match the query, as the matcher of a leg says, shape (len(keys),)."""
        return self.matchers[leg].match(query, keys, lambda: snapshot.rows(keys))

    def idf(self, terms: Iterable[str], snapshot: IndexSnapshot) -> dict[str, float]:
        """Return how rare each term is among the rows."""
        return self.words.idf(terms)

    def allowed(self, tree: Filter | None, leg: str) -> list[Bitmap] | None:
        """Return the rows that a filter lets answer, over the segments of a leg; None for all."""
        if tree is None:
            return None
        bitmap = self._aligned.get((tree, leg))
        if bitmap is None:
            bitmap = align(self.columns.bitmap(tree), self.columns.segments, self._views[leg])
            if len(self._aligned) >= ALIGNED:
                self._aligned.clear()
            self._aligned[tree, leg] = bitmap
        return bitmap

    def fulfilling(
        self, conditions: tuple[QueryCondition, ...], snapshot: IndexSnapshot
    ) -> NDArray[np.int64]:
        """Keys of the rows that fulfil conditions, ascending."""
        # A corpus has the numbers of the words of queries alone.
        own_searchers = self.alone
        fulfilled = own_searchers._fulfilled
        keys = fulfilled.get(conditions)
        if keys is None:
            keys = _live_rows(own_searchers)
            for condition in conditions:
                check_cancelled()
                rows = _rows_with(condition, own_searchers, snapshot)
                combine = np.setdiff1d if condition.excluded else np.intersect1d
                keys = combine(keys, rows, assume_unique=True)
            if len(fulfilled) >= ALIGNED:
                fulfilled.clear()
            fulfilled[conditions] = keys
        return keys

    def fulfils(self, condition: QueryCondition, snapshot: IndexSnapshot) -> bool:
        """Return whether any row fulfils a condition."""
        return len(self.fulfilling((condition,), snapshot)) > 0

    def held(self, tokens: Iterable[str], snapshot: IndexSnapshot) -> list[str]:
        """Return the tokens that the text of a row holds, in order."""
        return self.words.held(tokens)

    def unheld(self, text: str, snapshot: IndexSnapshot) -> list[str]:
        """Return the words of a text that no row holds, whatever its language, in order, without compounds."""
        return self.words.unheld(text)

    def like(self, word: str, edits: int, most: int, snapshot: IndexSnapshot) -> Tally:
        """Return the words that are written like one, by group, with the rows that hold each."""
        return self._like(word, edits, most)

    def best_with(self, token: str, k: int, snapshot: IndexSnapshot, group: str = "") -> list[int]:
        """Return the keys of the best `k` rows whose text holds a token of a group of words."""
        query, request = self.words.word(token, group), LegRequest(k, ids=snapshot.order)
        return list(self.words.pool(query, request).keys.tolist())

    def lookup(
        self, conditions: tuple[QueryCondition, ...], tree: Filter | None, snapshot: IndexSnapshot
    ) -> list[int]:
        """Keys of all rows that fulfil conditions and match a filter, by document id and place."""
        keys = self.fulfilling(conditions, snapshot)
        if tree is not None:
            bitmaps = zip(self.columns.segments, self.columns.bitmap(tree), strict=True)
            matching = [view.keys[unpack(bitmap, len(view))] for view, bitmap in bitmaps]
            matching_keys = np.concatenate([*matching, np.zeros(0, np.int64)])
            keys = np.intersect1d(keys, matching_keys, assume_unique=True)
        order = snapshot.order(keys.tolist())
        return [keys[place].item() for place in sorted(range(len(keys)), key=order.__getitem__)]

    def gather(
        self, queries: Mapping[str, Any], request: PoolRequest, snapshot: IndexSnapshot
    ) -> tuple[dict[str, Hits], Sequence[PartReport]]:
        """Return the best rows of legs, each asked in its own form, and no failures of parts of the index."""
        depth, ordered, exact = request.depth, request.ordered, request.exact
        hits: dict[str, Hits] = {}
        for leg, query in queries.items():
            allowed = None if request.tree is None else self.allowed(request.tree, leg)
            if request.conditions:
                keys = self.fulfilling(request.conditions, snapshot)
                fitting = [pack(np.isin(view.keys, keys, assume_unique=True)) for view in self._views[leg]]
                allowed = fitting if allowed is None else list(map(and_, fitting, allowed))
            leg_request = LegRequest(depth, allowed, ordered, request.certainty, exact, snapshot.order)
            hits[leg] = self.by_leg[leg].pool(query, leg_request)
        return hits, ()

    def explain(self, snapshot: IndexSnapshot, leg: str, query: Any, key: int) -> Explanation:
        """Return why a leg gives this row its score."""
        return self.by_leg[leg].explain(query, key)


def _live_rows(searchers: Searchers) -> NDArray[np.int64]:
    """Keys of all rows, ascending."""
    keys = [
        view.keys if view.live is None else view.keys[unpack(view.live, len(view))]
        for view in searchers.columns.segments
    ]
    return np.concatenate([*keys, np.zeros(0, np.int64)])


def _rows_with(condition: QueryCondition, searchers: Searchers, snapshot: IndexSnapshot) -> NDArray[np.int64]:
    """Keys of the rows that hold a word or a phrase, as the rules of their language read it.

    What has no word says nothing: it asks for no row, and leaves none out.

    Raises:
        TimeoutError: the deadline of the snapshot passed.
    """
    words = searchers.words
    if condition.is_word:
        return searchers.holding(words.ask(condition.text))
    if condition.field:
        return _rows_with_value(condition, words.analyzer.tokens(condition.text), searchers)
    parts: list[NDArray[np.int64]] = []
    for group in words.groups():
        analyzer = words.analyzer_of(group)
        tokens = analyzer.tokens(condition.text)
        if not tokens and not condition.excluded:
            return _live_rows(searchers)
        by_token = [searchers.holding(words.word(token, group)) for token in set(tokens)]
        keys = (
            reduce(partial(np.intersect1d, assume_unique=True), by_token) if tokens else np.zeros(0, np.int64)
        )
        if len(tokens) > 1:
            is_held = [np.zeros(0, np.bool_)]
            for first in range(0, len(keys), _PIECE):
                check_cancelled()
                if snapshot.check_time is not None:
                    snapshot.check_time()
                rows = snapshot.rows(keys[first : first + _PIECE].tolist())
                texts = [[row.text for row in rows], [str(row.metadata.get("title", "")) for row in rows]]
                names = {name for row in rows for name in row.fields}
                texts += [[row.fields.get(name, "") for row in rows] for name in names]
                is_held.append(analyzer.hold(texts, tokens))
            keys = keys[np.concatenate(is_held)]
        parts.append(keys)
    return parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))


def _rows_with_value(condition: QueryCondition, tokens: list[str], searchers: Searchers) -> NDArray[np.int64]:
    """Keys of the rows whose metadata holds the words in this order, or is what is written."""
    analyzer = searchers.words.analyzer
    keys = [np.zeros(0, np.int64)]
    for view in searchers.columns.segments:
        column = read_column(view, condition.field)
        if column is None:
            continue
        with naming_damage(view.name, condition.field):
            rows, codes = scalar_rows(column, np.arange(len(view)))
            is_fitting, is_held = np.zeros(column.n_codes, np.bool_), np.zeros(len(view), np.bool_)
            is_fitting[codes] = True
            distinct = np.flatnonzero(is_fitting)
            values = values_of(column, distinct)
            is_fitting[distinct] = list(values_with(condition.text, values, tokens, analyzer))
        is_held[rows[is_fitting[codes]]] = True
        keys.append(view.keys[is_held])
    return np.concatenate(keys)


def matchers_of(searchers: Mapping[str, LegSearcher[Any]]) -> dict[str, RowMatcher]:
    """Return what compares the best rows once more, by the leg that has it."""
    matchers = {name: searcher.matcher for name, searcher in searchers.items()}
    return {name: matcher for name, matcher in matchers.items() if matcher is not None}


def words_among(searchers: Mapping[str, LegSearcher[Any]]) -> tuple[str, TermSearcher[Any]]:
    """Return the leg that knows which words rows hold, and its searcher; every index has one."""
    return next((name, finder) for name, finder in searchers.items() if isinstance(finder, TermSearcher))


def vector_leg(legs: Mapping[str, RankingLeg[Any]]) -> str:
    """Return the name of the leg that takes vectors as queries.

    Raises:
        ArgumentError: there is no such leg.
    """
    for name, leg in legs.items():
        if leg.takes_vectors:
            return name
    raise ArgumentError(f"the index must have vectors, got legs {', '.join(legs)}")


def check_legs(legs: Sequence[str] | None, available: Collection[str]) -> Sequence[str]:
    """Return the legs to search, in order, each once.

    Raises:
        ArgumentError: none, or one that this index does not have; lists those it has.
    """
    if legs is None:
        return tuple(available)
    names = [legs] if isinstance(legs, str) or not isinstance(legs, Iterable) else list(legs)
    if not names or not all(map(available.__contains__, names)):
        raise ArgumentError(f"legs must be among {', '.join(available)} in this index, got {legs!r}")
    return list(filter(names.__contains__, available))
