"""How do documents get into the index, and out of it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sleuth.store.values import Known

if TYPE_CHECKING:
    from sleuth.types import Chunk


class Writer:
    """The one writer of an index at a time; made by `Store.writer()`.

    Nothing is seen by readers before `commit`. Leaving the block normally commits what is pending; leaving it by an
    exception discards what was not committed.
    """

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """What is stored of these documents, by id, changes of this writer included; absent where unknown."""
        raise NotImplementedError

    def put(
        self,
        document_id: str,
        content_hash: str,
        chunks: Sequence[Chunk],
        *,
        metadata: Mapping[str, Any] | None = None,
        source: str | None = None,
        title: str = "",
        size: int = 0,
        modified_ns: int | None = None,
    ) -> bool:
        """Add a document, or replace the one with this id. Whole or not at all.

        Args:
            document_id: any string without lone surrogates.
            content_hash: hex; covers all that is indexed of it (text, title, metadata, how it was cut). Where it is
                the stored one, nothing is done, save that `size` and `modified_ns` are noted.
            chunks: in order; may be empty.
            metadata: JSON values; `source` and `title` need not be repeated in it.
            source: where it came from; the id where None.

        Returns:
            Whether anything changed.

        Raises:
            ArgumentError: a lone surrogate, a hash that is not hex, metadata that JSON cannot hold.
        """
        raise NotImplementedError

    def put_passages(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        hashes: Sequence[str],
        *,
        metadata: Sequence[Mapping[str, Any] | None] | None = None,
        sources: Sequence[str | None] | None = None,
        titles: Sequence[str] | None = None,
    ) -> int:
        """Add or replace many documents of one chunk each, column-wise: the fast way in for short texts.

        As `put` for each with one chunk that is the whole text. All sequences have the length of `ids`; of equal ids the last
        stands.

        Returns:
            How many documents changed.
        """
        raise NotImplementedError

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Remove documents with their text; the ids that were found, in the order given."""
        raise NotImplementedError

    def put_embeddings(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by content hash (hex), for `Snapshot.embeddings`."""
        raise NotImplementedError

    def drop_embeddings(self, fingerprint: str) -> int:
        """Forget the vectors of one embedder; how many there were."""
        raise NotImplementedError

    @property
    def pending_bytes(self) -> int:
        """Bytes of text put since the last commit: callers commit from time to time to bound memory."""
        raise NotImplementedError

    def commit(self) -> int:
        """Make everything so far durable and visible, in every leg that is not deferred, at once.

        Returns:
            The new version; the old one where nothing had changed.

        Raises:
            StoreError: the disk is full or fails; nothing of this commit is visible, all earlier ones are kept.
        """
        raise NotImplementedError

    def rollback(self) -> None:
        """Forget what was not committed."""
        raise NotImplementedError
