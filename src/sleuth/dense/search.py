"""Searches an index by the vector of a query.

Codes of one bit per dimension give an estimate for every row that may answer, at a few nanoseconds each, and
how far the estimate may be off. A row is scored exactly, from its vector, unless its estimate is so far
below the k-th best score that it is almost certainly not among the best k: so the work follows the data, and
recall does not. Where few rows may answer, all are scored exactly. In a segment with lists (lists.py), only the
codes in the lists that promise most are read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sleuth.dense import codes, late, matching
from sleuth.dense.embedding import dimension_of
from sleuth.dense.encoding import begins_of
from sleuth.dense.lists import lists_in
from sleuth.errors import EmbeddingError, IndexDamagedError
from sleuth.store import Hits, LegRequest, LegSearcher, SegmentData, SegmentView, best_hits
from sleuth.store.legs.searching import locate, no_hits, rows_allowed
from sleuth.types import Explanation
from sleuth.vectors import as_vector, ask_embedder, embedded_text

if TYPE_CHECKING:
    from sleuth.dense.leg import DenseLeg
    from sleuth.store.record.values import Row

Vector: TypeAlias = NDArray[np.float32]

CERTAINTY = 2.5
"""Standard errors below the k-th best score at which a row is given up: recall@10 of .998 over 1,000,000
real passages and over vectors without any structure alike (table: words-and-meaning.md at 885da4c9)."""
LIST_CERTAINTY = 1.2
"""How much greater the error of estimates by lists is taken to be: their codes leave out less, so that fewer rows come
near the k-th best score."""
LISTED_K = 256
"""The most rows for which lists are read instead of all codes; more are spread over too many lists."""
MOST_DEPTH = 20_000
"""Rows scored exactly at most: reached only where k is large or nothing is near the query."""
EXACT_BELOW = 2048
"""Rows that are all scored exactly: faster than estimating first."""
SPARSE = 48
"""Where fewer than one row in so many may answer, all are scored exactly: estimates come for whole blocks of 64, and
reading a vector takes as long as the codes of so many rows."""
MOST_EXACT = 40_000
"""The most rows for that: lists take no longer than the vectors of so many, in 2,000,000 rows and in 5,000,000."""
POOL_DEPTH = 5
"""Rows that are scored exactly for each hit of a pool, whose near end decides a fused ranking."""


class DenseSearcher(LegSearcher[Vector]):
    """Searches one version of an index by cosine. Immutable; safe to share between threads.

    A score is the product of the query's and the row's vectors, both of length 1. It depends on the two
    alone: equal rows get bit-equal scores, however they lie in segments.

    Attributes:
        leg: the leg that built the segments.
        dimension: of the vectors; 0 where there are no rows. Where segments differ in it, every search raises
            EmbeddingError.
    """

    def __init__(
        self, leg: DenseLeg, segments: Sequence[SegmentView], previous: DenseSearcher | None = None
    ) -> None:
        """Create a searcher of these segments.

        Args:
            leg: the leg that built them.
            segments: in order of key.
            previous: the searcher of the version before; where sets of tokens begin is taken from it.

        Raises:
            EmbedderMismatchError: a segment was made with another embedder than the leg's.
        """
        for view in segments:
            leg.check(view)
        self.leg = leg
        self._segments = tuple(segments)
        widths = {int(view.meta["dimension"]) for view in segments if len(view)}
        self.dimension = max(widths, default=0)
        self._is_mixed = len(widths) > 1
        self._by_size = sorted(
            (i for i, view in enumerate(segments) if len(view)), key=lambda i: -len(segments[i])
        )
        self._numbers = np.array(self._by_size, np.int32)
        self._spread = max((float(segments[i].meta["spread"]) for i in self._by_size), default=0.0)
        self._lists = [lists_in(segments[i].arrays) for i in self._by_size]
        list_spread = max((float(view.meta.get("list_spread", 0)) for view in segments), default=0.0)
        self._list_spread = LIST_CERTAINTY * list_spread
        scanned = itemgetter("codes", "factors", "vectors", "centre")
        self._arrays = [(*scanned(view.arrays), view.tie_ranks, view.keys) for view in segments]
        self._rows = sum(map(len, segments))
        self._whole = [(*self._arrays[i], segments[i].live) for i in self._by_size]
        self.tokens: list[matching.Part] | None = None  # where every segment keeps them
        self._begins: dict[str, NDArray[np.uint64]] = {}
        if all("tokens" in view.arrays for view in segments):
            known = previous._begins if previous else {}
            self._begins = {
                view.name: known[view.name] if view.name in known else begins_of(view.arrays["sizes"])
                for view in segments
            }
            self.tokens = [
                (view.keys, view.arrays["tokens"], view.arrays["sizes"], self._begins[view.name])
                for view in segments
            ]

    # --- as a leg of an index

    def ask(self, query: str) -> Vector:
        """Return the vector of a query, shape (dimension,); zeros where the embedder knows none of it."""
        embedder = self.leg.embedder
        vector = ask_embedder(embedder.embed_query, query, embedder.fingerprint)
        if (
            not isinstance(vector, np.ndarray)
            or vector.dtype != np.float32
            or not math.isfinite(np.vdot(vector, vector))  # in half the time of a look at each value
        ):
            vector = as_vector(vector, embedder.fingerprint)
        return vector

    def pool(self, query: Vector, request: LegRequest, *, depth: int | None = None) -> Hits:
        """Return the best rows; none for a query whose vector is zero.

        Args:
            query: shape (dimension,), of any length but 0.
            depth: scores exactly the rows of the `depth` best estimates, at least k, instead of all that may be among
                the best k: cheaper for pools of hundreds, whose far end need not be certain.
        """
        k, allowed = request.k, request.allowed
        vector = self._prepare(query)
        if not request.certainty:
            depth = POOL_DEPTH * k
        if k == 0 or not np.count_nonzero(vector):
            return no_hits()
        parts = self._whole
        if allowed is not None:
            parts = [(*self._arrays[i], rows_allowed(self._segments[i], allowed[i])) for i in self._by_size]
        few = max(EXACT_BELOW, 2 * max(k, depth or 0), min(self._rows // SPARSE, MOST_EXACT))
        certainty = CERTAINTY * request.certainty if depth is None else -1
        owners, keys, scores, tied = codes.scan(
            parts, vector, k, depth or max(MOST_DEPTH, 2 * k), certainty, self._spread,
            self._rows if request.exact else few,
            lists=self._lists if k <= LISTED_K else None, list_spread=self._list_spread,
        )  # fmt: skip
        return best_hits(self._numbers[owners], keys, scores, tied, k, request.ids, ordered=request.ordered)

    @property
    def matcher(self) -> TokenMatcher:
        """Matches the tokens of rows with those of a query."""
        return TokenMatcher(self, self.leg.token_weight)

    def scores(self, query: str | Vector, keys: NDArray[np.int64]) -> NDArray[np.float32]:
        """Scores of these rows as `pool` gives them, shape (len(keys),); 0 for a key in none."""
        vector = self._prepare(self.ask(query) if isinstance(query, str) else query)
        scores = np.zeros(len(keys), np.float32)
        for view in self._segments:
            places, rows = locate(view, keys)
            if len(places):
                scores[places] = codes.dots(view.arrays["vectors"], vector, rows)
        return scores

    def explain(self, query: str | Vector, key: int) -> Explanation:
        """Why the row has its score."""
        score = float(self.scores(query, np.array([key], np.int64))[0])
        facts: dict[str, float | int | str] = {
            "embedder": self.leg.embedder.fingerprint,
            "dimension": self.dimension,
        }
        return Explanation("dense", score, "cosine of the vectors of query and passage", facts)

    def _prepare(self, vector: Vector) -> Vector:
        """Return a query of length 1, checked against the index."""
        if self._is_mixed:
            dimension_of(self._segments)
        query = np.ascontiguousarray(vector, np.float32)
        if query.ndim != 1 or (self.dimension and len(query) != self.dimension):
            raise EmbeddingError(
                f"the vector of a query must have {self.dimension} dimensions, as the index has (made with "
                f"{self.leg.embedder.fingerprint!r}), got shape {query.shape}",
                service=self.leg.embedder.fingerprint,
            )
        return codes.direction(query)

    def damage(self, problem: ValueError) -> IndexDamagedError:
        """Return what is wrong with the arrays of segments, as an error that names these."""
        names = []
        for view in self._segments:
            try:
                self.leg.validate(SegmentData(view.arrays, view.meta), len(view), full=True)
            except ValueError:
                names.append(view.name)
        return IndexDamagedError(
            f"segment {' or '.join(names or [view.name for view in self._segments])}: {problem}; "
            "`sleuth doctor --repair` makes it anew"
        )


@dataclass(frozen=True, slots=True)
class TokenMatcher:
    """Matches tokens of rows (late.py): a `RowMatcher`. Tokens that are not stored are taken from the texts."""

    searcher: DenseSearcher
    weight: float
    depth: int = late.READ

    def match(
        self, query: str, keys: NDArray[np.int64], rows: Callable[[], Sequence[Row]]
    ) -> NDArray[np.float64]:
        """Return how well the tokens of the rows `keys` match those of the query, shape (len(keys),).

        Args:
            rows: returns the same rows with their texts; called only where tokens of some are not stored.
        """
        values = None
        if self.searcher.tokens is not None:
            try:
                values = late.match_rows(query, self.searcher.tokens, np.ascontiguousarray(keys))
            except ValueError as error:
                raise self.searcher.damage(error) from error
        if values is not None:
            return values
        texts = ({**row.fields, "title": row.metadata.get("title"), "text": row.text} for row in rows())
        return late.match(query, list(map(embedded_text, texts)))

    lift = staticmethod(matching.lift)
    explain = staticmethod(late.explain)
