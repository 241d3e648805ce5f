"""What does one version of the index hold?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sleuth.store.legs import Rows, SegmentView
from sleuth.store.values import Counts, Row, StoredDocument


class Snapshot:
    """One committed version, from start to end; made by `Store.reader()`, of use only inside that block.

    Attributes:
        version: the commit that it shows; equal versions of one index hold equal rows.
    """

    version: int

    def segments(self, leg: str) -> tuple[SegmentView, ...]:
        """The leg's segments in order of key. Cached: microseconds while nothing changes.

        Together they hold every chunk of this version exactly once among their live rows, except for a deferred
        leg, which may lack the newest (see `uncovered`).
        """
        raise NotImplementedError

    def uncovered(self, leg: str) -> int:
        """How many chunks no segment of this leg holds: 0 save for deferred legs."""
        raise NotImplementedError

    def rows(self, keys: Iterable[int]) -> list[Row]:
        """The chunks with these keys, in this order. Every key must exist in this version."""
        raise NotImplementedError

    def ids(self, keys: Iterable[int]) -> list[str]:
        """The chunk ids of these keys, in this order."""
        raise NotImplementedError

    def order(self, keys: Iterable[int]) -> list[tuple[str, int]]:
        """For each key (document id, n): the order by which ties break."""
        raise NotImplementedError

    def key_of(self, chunk_id: str) -> int | None:
        """The key of the chunk `document_id#n`; None where there is none."""
        raise NotImplementedError

    def document(self, document_id: str) -> StoredDocument | None:
        """A document without its text; None where there is none."""
        raise NotImplementedError

    def documents(self, under: str | None = None) -> Iterator[StoredDocument]:
        """Documents by key; with `under`, those whose source is this path or lies below it."""
        raise NotImplementedError

    def chunks_of(self, document_id: str) -> list[Row]:
        """All chunks of a document, in order; empty where there is no such document."""
        raise NotImplementedError

    def neighbours(self, key: int, before: int = 1, after: int = 1) -> list[Row]:
        """The chunk and up to `before` and `after` chunks around it, of the same document, in order."""
        raise NotImplementedError

    def counts(self) -> Counts:
        """How many documents and chunks; costs microseconds."""
        raise NotImplementedError

    def stream(self, first: int = 1, last: int | None = None) -> Iterator[Rows]:
        """The rows with keys `first` to `last`, inclusive, as legs are given them, in batches of bounded size."""
        raise NotImplementedError

    def embeddings(self, fingerprint: str, hashes: Sequence[str]) -> Mapping[str, bytes]:
        """Cached vectors by content hash; absent where never put."""
        raise NotImplementedError
