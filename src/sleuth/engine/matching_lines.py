"""Finds every line that matches a pattern in the stored texts of documents: complete and counted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from sleuth.engine.expansion import parts_of
from sleuth.filters import all_of, matches
from sleuth.remote import check_cancelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sleuth.code.search.matching_lines import LinePattern
    from sleuth.engine.view import IndexView
    from sleuth.filters import Filter
    from sleuth.store import IndexSnapshot
    from sleuth.store.record.values import Row

_TOGETHER: Final = 1_000
"""Passages that are read at once, about: some megabytes of text."""


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A line of a document that matches.

    Attributes:
        id: of the passage in which the match starts.
        line: 1-based; of a row of a table, where the row begins. None if the text has no lines of a file.
        text: the line, or 300 characters of it around the first match.
        metadata: of the passage, as of a hit.
    """

    id: str
    line: int | None
    text: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentLines:
    """Some of the lines that match, and how many there are.

    Attributes:
        matches: in order of document id and place.
        lines, documents: how many match in all.
    """

    matches: tuple[DocumentLine, ...]
    lines: int
    documents: int


def grep(
    view: IndexView, pattern: LinePattern, filter: Filter | None, *, limit: int, offset: int
) -> DocumentLines:
    """Find all lines that match, and return `limit` of them from `offset` on."""
    selected: list[DocumentLine] = []
    lines = documents = 0
    tree = all_of(view.scope, filter)
    with view.store.reader() as snapshot:
        for rows in _documents(view, snapshot, filter):
            earlier_lines = lines
            allowed = rows if tree is None else [row for row in rows if matches(tree, row.metadata)]
            # A pattern must not match across a passage that is hidden.
            gaps = [row.n - place for place, row in enumerate(allowed)]
            for _, neighbours in groupby(zip(gaps, allowed, strict=True), itemgetter(0)):
                run = [row for _, row in neighbours]
                parts = [
                    part.replace("\r\n", "\n").encode("utf-8", "surrogatepass") for part in parts_of(run)
                ]
                text = b"".join(parts)
                places = pattern.lines(text)
                first, end = max(0, offset - lines), max(0, offset + limit - lines)
                starts = list(accumulate(map(len, parts), initial=0))[:-1]
                for place in places[first:end]:
                    row = run[bisect_right(starts, place.start) - 1]
                    line = run[0].start_line + place.line - 1 if row.start_line else None
                    line = line or row.metadata.get("start_line")
                    selected.append(DocumentLine(row.id, line, place.shown(text), row.metadata))
                lines += len(places)
            documents += lines > earlier_lines
    return DocumentLines(tuple(selected), lines, documents)


def _documents(view: IndexView, snapshot: IndexSnapshot, filter: Filter | None) -> Iterator[Sequence[Row]]:
    """Yield the passages of each document that may match a filter, by id."""
    keys_that_fit: set[int] | None = None
    if filter is not None:
        selection = view.backend.searchers_of(snapshot).select(snapshot, filter)
        keys_that_fit = set(selection.document_keys().tolist())
    keys = (key for key, _ in snapshot.by_id() if keys_that_fit is None or key in keys_that_fit)
    pending: list[int] = []
    while page := list(islice(keys, _TOGETHER)):
        for key, document in zip(page, snapshot.documents_at(page), strict=True):
            pending.extend(range(key, key + document.chunks))  # a document has the key of its first passage
            if len(pending) >= _TOGETHER:
                yield from _by_document(snapshot, pending)
                pending = []
    yield from _by_document(snapshot, pending)


def _by_document(snapshot: IndexSnapshot, keys: Sequence[int]) -> Iterator[Sequence[Row]]:
    check_cancelled()
    for _, rows in groupby(snapshot.rows(keys), lambda row: row.document_id):
        yield list(rows)
