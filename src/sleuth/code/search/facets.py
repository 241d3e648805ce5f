"""Counts what matches a query in code: its files, and the kinds of definitions in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sleuth.code.search.filters import read_tree
from sleuth.code.search.query import read_query
from sleuth.filters import FilterForm, as_filter
from sleuth.store import LegRequest

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot

MOST_READ: Final = 50
"""Files whose definitions are read. A search reads about as many, so that they are in memory mostly."""


class CodeMatches(NamedTuple):
    """The code that holds a word of a query.

    Attributes:
        files: in order of path.
        kinds: by kind of definition, the matching pieces of such definitions, most frequent first. With more than
            `MOST_READ` files, the kinds in the best of them, and None in place of each number.
    """

    files: list[FileRow]
    kinds: dict[str, int | None]


def code_matches(snapshot: Snapshot, query: str, filter: FilterForm = None) -> CodeMatches:
    """Return what holds a word of a query at a snapshot, among the pieces of code that match a filter.

    Raises:
        FilterError: a filter that cannot be read; says where.
    """
    terms, allowed = read_query(query).terms, read_tree(snapshot, as_filter(filter))
    if not terms or not len(snapshot.chunk_keys):
        return CodeMatches([], {})
    searcher, views = snapshot.chunk_words
    masks = None if allowed.files is None else snapshot.bitmaps(views, snapshot.chunks_of(allowed.files))
    hits = searcher.pool({"context": terms}, LegRequest(len(snapshot.chunk_keys), allowed=masks))
    files = snapshot.positions_of_chunks(hits.keys)
    places = hits.keys - snapshot.firsts[files]
    if allowed.accepts is not None:
        spots = zip(files.tolist(), places.tolist(), strict=True)
        is_accepted = np.fromiter((allowed.allows(*spot) for spot in spots), bool, len(files))
        files, places = files[is_accepted], places[is_accepted]
    in_rank_order = list(dict.fromkeys(files.tolist()))
    best = set(in_rank_order[:MOST_READ])
    kinds = Counter[str]()
    for file, place in zip(files.tolist(), places.tolist(), strict=True):
        if file in best:
            detail = snapshot.detail(snapshot.files[file])
            symbol = detail.chunks[place].symbol
            if symbol >= 0:
                kinds[detail.symbols[symbol].kind] += 1
    is_whole = len(best) == len(in_rank_order)
    counts = {kind: count if is_whole else None for kind, count in kinds.most_common()}
    return CodeMatches([snapshot.files[file] for file in sorted(in_rank_order)], counts)
