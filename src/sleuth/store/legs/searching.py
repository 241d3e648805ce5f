"""What an index asks of a leg beyond its segments: to rank rows for a query.

An index holds legs by name and knows none of them. A leg that ranks subclasses `RankingLeg` and opens `LegSearcher`s.
What most legs do alike has a default here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sleuth.errors import ArgumentError
from sleuth.store.legs.leg import Bitmap, Hits, Leg, SegmentView

if TYPE_CHECKING:
    from sleuth.protocols import Embedder
    from sleuth.settings import IndexSettings
    from sleuth.store.legs.encoding import EncodingCache
    from sleuth.store.record.values import Finding, Row
    from sleuth.text.analyzers import Analyzer
    from sleuth.types import Explanation

Q = TypeVar("Q")
"""A query in the form of a leg: plain values, mappings and arrays, which can be sent to other processes."""

Ids: TypeAlias = Callable[[NDArray[np.int64]], Sequence[Any]]
"""Tie-break order of rows by key."""

Tally: TypeAlias = Mapping[str, Mapping[str, int]]
"""Numbers by group and name, such as rows by field and term; those of the parts of an index add up."""


def greatest(numbers: Mapping[str, int], most: int) -> dict[str, int]:
    """Return the names with the greatest numbers, the greatest first, ties by name."""
    names = sorted(numbers, key=lambda name: (-numbers[name], name))
    return {name: numbers[name] for name in names[:most]}


class LegContext(NamedTuple):
    """What a leg is opened with.

    Attributes:
        settings: of the index.
        argument: what follows the name of the leg and a colon in the setting `legs`, such as a model; "" for nothing.
        embedder: of the index, if there is one.
        cache: keeps what a slow model makes; None where queries alone are asked.
    """

    settings: IndexSettings
    argument: str = ""
    embedder: Embedder | None = None
    cache: EncodingCache | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """A corpus of which a searcher holds a part: with its numbers, scores are those of the whole.

    Attributes:
        totals: `LegSearcher.totals`, summed over the parts.
        counts: `LegSearcher.counts`, summed over the parts. They must have every name of a query before that is
            searched, and may grow: a number that is there never changes. A name that no row has may be left out.
    """

    totals: Tally
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


class LegRequest(NamedTuple):
    """What a leg is asked for.

    Attributes:
        k: rows, 0 or more; more than there are gives all.
        allowed: per segment, the rows that may answer; None for all.
        ordered: whether equal scores must be in order of id; ids always decide which of them are among the best k.
        certainty: how sure a leg that estimates must be of its last rows, from 0, where they are fused, to 1.
        exact: whether no row may be given up by an estimate of its score.
        ids: names rows whose scores tie; None for order of key.
    """

    k: int
    allowed: Sequence[Bitmap | None] | None = None
    ordered: bool = True
    certainty: float = 1.0
    exact: bool = False
    ids: Ids | None = None


class RowMatcher(Protocol):
    """Compares the best rows of a fused ranking with the query once more, word by word.

    Attributes:
        weight: of the best score, what the best match gains; 0 where nothing is matched by default.
        depth: rows that are compared.
    """

    @property
    def weight(self) -> float: ...
    @property
    def depth(self) -> int: ...

    def match(
        self, query: str, keys: NDArray[np.int64], rows: Callable[[], Sequence[Row]]
    ) -> NDArray[np.float64]:
        """Return how well rows match, shape (len(keys),), 0 to 1.

        Args:
            rows: reads the rows of `keys`.
        """

    def lift(
        self, scores: NDArray[np.float64], matches: NDArray[np.float64], weight: float
    ) -> NDArray[np.float64]:
        """Return the scores, shape (n,), with what the matches of the first ones gain these, shape (m,), m <= n."""

    def explain(
        self, score: float, match: float, before: float, weight: float, below: Explanation | None
    ) -> Explanation:
        """Return why a row has its score, over why it had the one before."""


class LegSearcher(Generic[Q]):
    """Searches one version of a leg's rows. Immutable; safe to share between threads."""

    @property
    def matcher(self) -> RowMatcher | None:
        """Compares the best rows of a fused ranking once more; None where the leg has nothing for that."""
        return None

    @abstractmethod
    def ask(self, query: str) -> Q:
        """Return a query in the leg's own form.

        Raises:
            EmbeddingError: a model is needed and does not answer.
        """

    @abstractmethod
    def pool(self, query: Q, request: LegRequest) -> Hits:
        """Return the best rows."""

    @abstractmethod
    def explain(self, query: Q, key: int) -> Explanation:
        """Return why a row has its score."""

    # Scores that depend on the whole corpus are made of numbers that parts of an index share.

    def totals(self) -> Tally:
        """Return numbers about the rows of these segments that scores depend on, whatever the query."""
        return {}

    def names(self, query: Q) -> Mapping[str, Collection[str]]:
        """Return what a query asks to be counted, by group."""
        return {}

    def counts(self, names: Mapping[str, Collection[str]]) -> Tally:
        """Return these numbers of the rows of these segments."""
        return {}

    def present(self, query: Q) -> Q:
        """Return a query without what no row of the corpus has."""
        return query


class TermSearcher(LegSearcher[Q]):
    """A searcher of the leg that knows which words rows hold.

    Attributes:
        analyzer: cuts the text of rows into words.
    """

    analyzer: Analyzer

    @abstractmethod
    def idf(self, terms: Iterable[str]) -> dict[str, float]:
        """Return how rare each term is; the largest number for a term that no row holds."""

    @abstractmethod
    def held(self, tokens: Iterable[str]) -> list[str]:
        """Return the tokens that the text of a row holds, in order."""

    @abstractmethod
    def unheld(self, text: str) -> list[str]:
        """Return the words of a text that no row holds, whatever its language, in order, without compounds."""

    @abstractmethod
    def word(self, token: str, group: str = "") -> Q:
        """Return the query that finds the rows whose text holds a token, of a group that is counted by itself."""

    @abstractmethod
    def widened(self, query: str, weights: Mapping[str, Mapping[str, float]]) -> Q:
        """Return a query with further words, by group and word; its own words count as they did."""

    @abstractmethod
    def analyzer_of(self, group: str) -> Analyzer:
        """Return what cuts the texts of a group into words."""

    @abstractmethod
    def like(self, word: str, edits: int, most: int) -> Tally:
        """Return the words that are written like one, by group, with the rows that hold each.

        Args:
            edits: by how many they differ at most; 0 for the words that begin with it.
            most: words of each group, those in the most rows.
        """

    @abstractmethod
    def groups(self) -> Collection[str]:
        """Return the groups in which words are counted."""


class IndexLeg(Leg):
    """A leg of an index of documents.

    Attributes:
        of_embedder: whether its arrays are made with the embedder of the index, so that another one makes them again.
        deferred: whether rows are so expensive that commits leave them out until `build`.
        missing: why rows cannot be built now, such as a package that is not installed; "" where they can.
    """

    of_embedder: ClassVar[bool] = False
    deferred: bool = False
    missing: str = ""

    @classmethod
    @abstractmethod
    def open(cls, context: LegContext) -> Self | None:
        """Return the leg of an index; None if these settings leave it out.

        Raises:
            ArgumentError: settings that the leg cannot have.
        """

    def begin(self, segments: Sequence[SegmentView], progress: Callable[[int, int], None]) -> None:
        """Prepare to build the rows that commits left out.

        Args:
            segments: that there are already.
            progress: to be called while rows are built, with how many of one call of `build` are done, and of how many.
        """

    def end(self) -> None:
        """Finish after such rows were built."""

    def inspect(self, segments: Sequence[SegmentView]) -> Iterator[Finding]:
        """Yield what is wrong with segments that are sound each by itself."""
        yield from ()


class RankingLeg(IndexLeg, Generic[Q]):
    """A leg that ranks.

    Attributes:
        weight: in the default fusion.
        meaning: what it searches by, in a word or two, for the help of commands.
        is_certain: whether a hit has something in common with the query for certain, such as a word. The default
            weights of other legs fall where they agree little with the first certain one.
        is_exact: whether the best k do not depend on how many rows are asked for.
        is_slow: whether turning a query into the leg's form waits for a service, so that it needs a deadline.
        takes_vectors: whether a vector of the embedder of the index is a query in its form.
    """

    weight: float = 1.0
    meaning: ClassVar[str] = ""
    is_certain: ClassVar[bool] = True
    is_exact: ClassVar[bool] = True
    takes_vectors: ClassVar[bool] = False
    is_slow: bool = False

    @abstractmethod
    def searcher(
        self,
        segments: Sequence[SegmentView],
        *,
        previous: LegSearcher[Q] | None = None,
        corpus: Corpus | None = None,
    ) -> LegSearcher[Q]:
        """Open a searcher.

        Args:
            segments: in order of key. Without any, it turns queries into the leg's form for searchers elsewhere.
            previous: the searcher of the version before; what did not change can be taken from it.
            corpus: what these segments are a part of; None where they are all of it.
        """

    def knowledge(self, query: str) -> float:
        """Return how well the leg knows the words of a query, 0 to 1; its default weight is multiplied by that."""
        return 1.0

    def greatest(self, query: str, idf: Callable[[Iterable[str]], Mapping[str, float]]) -> float:
        """Return the greatest score that a row can reach, so that a score divided by it compares between queries.

        Args:
            idf: how rare words are in the index.
        """
        return 1.0

    def unrelated(self, query: str) -> float:
        """Return the share of the greatest score, 0 to 1, that rows reach which have nothing in common with a query."""
        return 0.0


def rows_allowed(view: SegmentView, allowed: Bitmap | None) -> Bitmap | None:
    """Return the live rows of a segment that are allowed; None for all.

    Raises:
        ArgumentError: the bitmap does not fit the segment.
    """
    if allowed is None:
        return view.live
    words = (len(view) + 63) // 64
    if len(allowed) != words:
        raise ArgumentError(f"allowed must hold {words} words for {len(view)} rows, got {len(allowed)}")
    return allowed if view.live is None else allowed & view.live


def locate(view: SegmentView, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """(places, ordinals): which of `keys` are live rows of the segment, and which rows those are."""
    if not len(view):
        return np.zeros(0, np.int64), np.zeros(0, np.uint32)
    at = np.minimum(np.searchsorted(view.keys, keys), len(view) - 1)
    is_held = view.keys[at] == keys
    if view.live is not None:
        words = view.live[at >> 6] >> (at & 63).astype(np.uint64)
        is_held &= (words & np.uint64(1)).astype(bool)
    places = np.flatnonzero(is_held)
    return places, at[places].astype(np.uint32)


def no_hits() -> Hits:
    """Return an empty ranking."""
    return Hits(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32))


def best_hits(  # noqa: PLR0917 - what a kernel found
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    tied: bool,
    k: int,
    ids: Callable[[NDArray[np.int64]], Sequence[Any]] | None,
    *,
    ordered: bool = True,
) -> Hits:
    """Return the best `k`, ties by id.

    Args:
        segments, keys, scores: the best k and what ties with the last of them, best first; ties in one segment in order
            of id.
        tied: whether rows of different segments tie.
        ids: names of rows by key; asked only for those. None for the order of keys.
        ordered: whether the order of ties matters, beyond which of them are among the best k.
    """
    if tied and len(keys) and (ordered or len(keys) > k):
        names_of = ids or (lambda keys: [f"{key:020d}" for key in keys.tolist()])
        order = _by_id(scores, segments, keys, names_of, 0 if ordered else k)
        segments, keys, scores = segments[order], keys[order], scores[order]
    return Hits(keys[:k], scores[:k], segments[:k]) if len(keys) > k else Hits(keys, scores, segments)


def _by_id(
    scores: NDArray[np.float32],
    segments: NDArray[np.int32],
    keys: NDArray[np.int64],
    ids: Callable[[NDArray[np.int64]], Sequence[Any]],
    after: int,
) -> NDArray[np.int64]:
    """Return the order that sorts ties by id, in runs of equal score over several segments that end after a place."""
    order = np.arange(len(keys))
    starts = np.flatnonzero(np.concatenate(([True], scores[1:] != scores[:-1])))
    ends = np.append(starts[1:], len(order))
    mixed = np.minimum.reduceat(segments, starts) != np.maximum.reduceat(segments, starts)
    mixed &= ends > after
    stretches = list(zip(starts[mixed].tolist(), ends[mixed].tolist(), strict=True))
    if not stretches:
        return order
    names = iter(ids(keys[np.concatenate([order[start:end] for start, end in stretches])]))
    for start, end in stretches:
        name_by_place = dict(zip(range(start, end), names, strict=False))
        order[start:end] = sorted(name_by_place, key=name_by_place.__getitem__)
    return order
