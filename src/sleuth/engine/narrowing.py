"""One version of an index as a scope shows it: rows and documents out of the scope count as deleted.

So everything that is made of it, by whichever leg, is what an index of the scope's documents alone would give:
rankings, scores and the numbers behind them, words and keys that are suggested, counts and facets.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sleuth.filters import matches
from sleuth.filters.match import lies_within
from sleuth.filters.tree import keys_in
from sleuth.store import Counts, IndexSnapshot
from sleuth.store.legs.leg import count
from sleuth.store.record.layout import check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from sleuth.filters import Filter
    from sleuth.settings import IndexSettings
    from sleuth.store import KnownFile, SegmentView
    from sleuth.store.legs.leg import Bitmap
    from sleuth.store.record.values import Row
    from sleuth.types import StoredDocument

SCOPES: Final = 64
"""Scopes of which the searchers are kept; a million rows take a megabyte for each."""
_FEW: Final = 1000
"""Documents that are read or compared together."""
OF_PASSAGES: Final = frozenset({"start_line", "end_line", "page", "heading"})
"""Keys whose values differ between the passages of a document."""


class Scope(NamedTuple):
    """What a view sees and may change.

    Attributes:
        filter: what its passages match.
        is_of_documents: whether the passages of a document are alike to it, so that the document tells.
    """

    filter: Filter
    is_of_documents: bool

    @classmethod
    def of(cls, filter: Filter, settings: IndexSettings) -> Scope:
        """Return the scope that a filter is in an index."""
        keys = {name.partition(".")[0] for name in keys_in(filter)}
        return cls(filter, not settings.chunker and OF_PASSAGES.isdisjoint(keys))

    def sees(self, snapshot: IndexSnapshot, document: StoredDocument) -> bool:
        """Return whether a passage of a document is in the scope.

        Args:
            snapshot: of the whole index.
        """
        return any(matches(self.filter, metadata) for metadata in self._metadata(snapshot, document))

    def holds(self, snapshot: IndexSnapshot, document: StoredDocument) -> bool:
        """Return whether all passages of a document are in the scope, with every value of their lists.

        Args:
            snapshot: of the whole index.
        """
        return all(lies_within(self.filter, metadata) for metadata in self._metadata(snapshot, document))

    def _metadata(self, snapshot: IndexSnapshot, document: StoredDocument) -> Iterable[Mapping[str, Any]]:
        """Return the metadata of the passages of a document, or its own."""
        if self.is_of_documents or not document.chunks:
            return (document.metadata,)
        return (row.metadata for row in snapshot.chunks_of(document.id))


class Narrowing:
    """The rows of one version that are in a scope.

    Attributes:
        views: by leg, the segments, in which other rows are not live.
        columns: those of the leg that filters, which has all rows.
        documents: keys of the documents, ascending; None until they are asked for.
    """

    def __init__(
        self,
        views: Mapping[str, Sequence[SegmentView]],
        allowed: Mapping[str, Sequence[Bitmap]],
        filtering: str,
        before: Narrowing | None,
    ) -> None:
        """Narrow segments.

        Args:
            views: by leg, the segments of the whole index.
            allowed: by leg, the rows of each segment that are in the scope.
            filtering: the leg that filters.
            before: of the version before; segments that are as they were there are taken from it.
        """
        self._whole = views
        self.views: dict[str, tuple[SegmentView, ...]] = {}
        for leg, segments in views.items():
            former = (
                {}
                if before is None
                else dict(zip(map(id, before._whole[leg]), before.views[leg], strict=True))
            )
            narrowed_views = []
            for view, rows in zip(segments, allowed[leg], strict=True):
                live, narrowed = rows if view.live is None else rows & view.live, former.get(id(view))
                if narrowed is None or narrowed.live is None or not np.array_equal(narrowed.live, live):
                    narrowed = replace(view, live=live)  # searchers know a segment by its identity
                narrowed_views.append(narrowed)
            self.views[leg] = tuple(narrowed_views)
        self.columns = self.views[filtering]
        self.documents: NDArray[np.int64] | None = None


class NarrowedSnapshot(IndexSnapshot):
    """One version of an index, of which only the rows and documents in a scope are there.

    Attributes:
        base: the version of the whole index.
        scope: the filter.
    """

    __slots__ = ("_documents", "_narrowing", "_scope", "base", "scope")

    def __init__(
        self,
        base: IndexSnapshot,
        scope: Scope,
        narrowing: Narrowing,
        documents: Callable[[], NDArray[np.int64]],
    ) -> None:
        """Narrow a snapshot of the whole index.

        Args:
            narrowing: the rows of this version that are in the scope.
            documents: returns the keys of the documents in the scope, ascending.
        """
        super().__init__(base._connection, base.version, base._loaded)
        self.base, self.scope = base, scope.filter
        self._scope, self._narrowing, self._documents = scope, narrowing, documents

    def segments(self, leg: str) -> tuple[SegmentView, ...]:
        """Return the leg's segments in order of key; rows out of the scope are not live."""
        return self._narrowing.views[leg]

    def document_keys(self) -> NDArray[np.int64]:
        """Keys of the documents of which a passage is in the scope, ascending, shape (documents,)."""
        if self._narrowing.documents is None:
            self._narrowing.documents = self._documents()
        return self._narrowing.documents

    def document(self, document_id: str) -> StoredDocument | None:
        """Return a document without its text; None for an unknown id."""
        document = super().document(document_id)
        return document if document is not None and self._scope.sees(self.base, document) else None

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents by key; with `under`, those whose source is this path, a row of it (`path#1`) or lies below it."""
        root = None if under is None else check_text(under, "under").rstrip("/")
        for document in self.documents_at(self.document_keys().tolist()):
            if (
                root is None
                or document.source == root
                or document.source.startswith((f"{root}/", f"{root}#"))
            ):
                yield document

    def by_id(self, after: str = "", limit: int = -1) -> Iterator[tuple[int, str]]:
        """Keys and ids of documents whose id comes after this one, in order of id; all of them with a limit of -1."""
        entries = self._by_id(after)
        return entries if limit < 0 else islice(entries, limit)

    def _by_id(self, after: str) -> Iterator[tuple[int, str]]:
        keys, after_id = self.document_keys(), check_text(after, "after")
        if len(keys) <= _FEW:  # all others need not be walked through
            documents = zip(keys.tolist(), self.documents_at(keys.tolist()), strict=True)
            entries = sorted((document.id, key) for key, document in documents)
            yield from ((key, id) for id, key in entries if id > after_id)
            return
        all_entries = super().by_id(after)
        while page := list(islice(all_entries, _FEW)):
            page_keys = np.array([key for key, _ in page], np.int64)
            places = np.minimum(np.searchsorted(keys, page_keys), len(keys) - 1)
            yield from compress(page, (keys[places] == page_keys).tolist())

    def key_of(self, chunk_id: str) -> int | None:
        """Return the key of the chunk `document_id#n`; None for an unknown id."""
        key = super().key_of(chunk_id)
        if key is None:
            return None
        for view in self._narrowing.columns:
            row = int(np.searchsorted(view.keys, key))
            if row < len(view) and view.keys[row] == key and view.live is not None:
                return key if view.live[row >> 6] >> np.uint64(row & 63) & np.uint64(1) else None
        return None

    def chunks_of(self, document_id: str) -> list[Row]:
        """Return all chunks of a document, in order; empty where there is no such document."""
        return self._seen(super().chunks_of(document_id))

    def neighbours(self, key: int, before: int, after: int) -> list[Row]:
        """Return the chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        return self._seen(super().neighbours(key, before, after))

    def _seen(self, rows: list[Row]) -> list[Row]:
        return [row for row in rows if matches(self.scope, row.metadata)]

    def noted_files(self) -> list[KnownFile]:
        """Return nothing: what was noted concerns the documents of all."""
        return []

    def counts(self) -> Counts:
        """Return how many documents and chunks."""
        live = [view.live for view in self._narrowing.columns]
        return Counts(len(self.document_keys()), sum(count(bitmap) for bitmap in live if bitmap is not None))
