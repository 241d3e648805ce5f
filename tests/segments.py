"""Rows of texts, and segments of them as one version of an index presents them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sleuth.store import Hits, LegRequest, Rows, SegmentData, SegmentView
from sleuth.store.legs.leg import Leg, pack


def rows_of(
    texts: Sequence[str | Mapping[str, str]],
    first: int = 0,
    ranks: Sequence[int] | None = None,
    metadata: Sequence[Mapping[str, Any]] | None = None,
) -> Rows:
    """Return rows with keys from `first` on; a text alone is that of the field "text"."""
    rows = [{"text": row} if isinstance(row, str) else row for row in texts]
    names = sorted({"text", *(name for row in rows for name in row)})
    keys = np.arange(first, first + len(rows), dtype=np.int64)
    tie_ranks = None if ranks is None else np.array(ranks, np.uint32)
    return Rows(
        keys, tie_ranks, {name: [row.get(name, "") for row in rows] for name in names}, metadata or ()
    )


def view_of(
    data: SegmentData, keys: ArrayLike, name: str = "s", live: ArrayLike | None = None, ranks: Any = None
) -> SegmentView:
    """Return a segment with rows of these keys."""
    bitmap = None if live is None else pack(np.asarray(live, np.bool_))
    return SegmentView(name, np.asarray(keys, np.int64), ranks, bitmap, data.arrays, data.meta)


def segment_of(leg: Leg, rows: Rows, name: str = "s", live: ArrayLike | None = None) -> SegmentView:
    """Return a segment that a leg builds of rows."""
    return view_of(leg.build(rows), rows.keys, name, live, rows.tie_ranks)


def search(searcher: Any, query: Any, k: int = 10, *, depth: int | None = None, **asked: Any) -> Hits:
    """Return the best `k` rows for a text, or for what the searcher of a leg makes of one; `depth` as of dense ones."""
    options = {} if depth is None else {"depth": depth}
    asked_for = searcher.ask(query) if isinstance(query, str) else query
    hits: Hits = searcher.pool(asked_for, LegRequest(k, **asked), **options)
    return hits
