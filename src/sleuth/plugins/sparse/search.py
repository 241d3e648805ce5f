"""Searches the learned weights of an index, and explains scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sleuth.lexical import FieldIndex, FieldPostings, Found, SegmentRows
from sleuth.plugins.neural import TokenWeights
from sleuth.plugins.sparse.impacts import SATURATION, SCALE, weight_of
from sleuth.store import Hits, LegRequest, LegSearcher, SegmentView
from sleuth.types import Explanation

if TYPE_CHECKING:
    from sleuth.plugins.sparse.leg import SparseLeg

FIELD = "sparse"


class SparseSearcher(LegSearcher[TokenWeights]):
    """Scores a row by the sum over tokens of its weight times that of the query. Immutable; safe to share."""

    def __init__(
        self, leg: SparseLeg, segments: Sequence[SegmentView], previous: SparseSearcher | None = None
    ) -> None:
        """Create a searcher of these segments; what did not change since `previous` is taken from it."""
        self._leg = leg
        postings_by_name: dict[str, FieldPostings] = previous._by_name if previous else {}
        self._postings = [postings_by_name.get(view.name) or postings_in(view) for view in segments]
        self._by_name: dict[str, FieldPostings] = {
            view.name: postings for view, postings in zip(segments, self._postings, strict=True)
        }
        self._rows = SegmentRows(segments)
        self._index = FieldIndex(
            FIELD,
            self._postings,
            [view.live for view in segments],
            n=sum(map(len, segments)),
            c0=SATURATION,
            c1=0.0,
            drifts=[1.0] * len(segments),
            sparse=[False] * len(segments),
        )

    def ask(self, query: str) -> TokenWeights:
        """Return the weights of a query."""
        return self._leg.encode_query(query)

    def pool(self, query: TokenWeights, request: LegRequest) -> Hits:
        """Return the best rows."""
        return self._rows.search(self._weigh(query), request)

    def explain(self, query: TokenWeights, key: int) -> Explanation:
        """Return why the row has its score: a part per token; the parts sum to the score."""
        terms = self._weigh(query)
        parts = [
            Explanation(
                f"{FIELD}:{token}",
                query_weight * (row_weight := weight_of(count.tf)),
                "query_weight * weight",
                {"query_weight": query_weight, "weight": row_weight},
            )
            for (_, _, token, query_weight, _), count in self._rows.terms_in_row(
                terms, key, [{FIELD: postings} for postings in self._postings]
            )
        ]
        (score,) = self._rows.scores(terms, np.array([key], np.int64)).tolist()
        facts: Mapping[str, float] = {"terms": len(terms), "matched": len(parts)}
        return Explanation(FIELD, score, "sum of query_weight * weight", facts, tuple(parts))

    def _weigh(self, query: TokenWeights) -> list[tuple[float, str, str, float, Found]]:
        """Return the tokens of a query that some live row has, heaviest first."""
        entries = ((token, weight, self._index.find(token)) for token, weight in query.items() if weight > 0)
        return sorted(
            (-weight * SCALE, FIELD, token, weight, entry) for token, weight, entry in entries if entry.df
        )


def postings_in(view: SegmentView) -> FieldPostings:
    """Return the postings of a segment."""
    return FieldPostings(view.arrays, f"segment {view.name}")
