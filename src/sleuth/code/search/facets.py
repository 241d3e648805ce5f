"""Counts what matches a query in code: its files, and the kinds of definitions in them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

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
    positions = snapshot.positions_of_chunks(hits.keys)
    places = hits.keys - snapshot.firsts[positions]
    # Of each matching chunk the position of its file, and its place in that file, best first.
    spots = zip(positions.tolist(), places.tolist(), strict=True)
    chunks = [(file, place) for file, place in spots if allowed.allows(file, place)]
    files = list(dict.fromkeys(file for file, _ in chunks))
    files_to_read = set(files[:MOST_READ])
    kinds = Counter[str]()
    for file, place in chunks:
        if file in files_to_read:
            detail = snapshot.detail(snapshot.files[file])
            symbol = detail.chunks[place].symbol
            if symbol >= 0:
                kinds[detail.symbols[symbol].kind] += 1
    is_whole = len(files) <= MOST_READ
    counts = {kind: count if is_whole else None for kind, count in kinds.most_common()}
    return CodeMatches([snapshot.files[file] for file in sorted(files)], counts)
