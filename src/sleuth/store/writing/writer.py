"""The one writer of an index: puts documents, deletes them, commits, and mends the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from sleuth.logs import logger_of
from sleuth.store.catalogue.building import Built
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.views import Views
from sleuth.store.record import layout as record
from sleuth.store.record.batch import DocumentBatch, DocumentFacts, digest_of
from sleuth.store.record.counters import Totals
from sleuth.store.record.layout import Connection, DocumentRow
from sleuth.store.record.salt import write_salt
from sleuth.store.record.values import Known
from sleuth.store.writing.pending import PendingDocuments
from sleuth.store.writing.transaction import KeyRange, Transaction

if TYPE_CHECKING:
    from sleuth.types import Chunk


logger = logger_of("store")


class Repairs:
    """Removes documents that have lost a part, restores the salt, and counts again."""

    def __init__(self, transaction: Transaction, commit: Callable[[], int]) -> None:
        self._transaction = transaction
        self._commit = commit

    def forget_documents(self, keys: Sequence[int]) -> None:
        """Remove documents of which the record has lost a part."""
        counters, connection = self._transaction.begin(), self._transaction.connection
        ranges = []
        with record.translated(self._transaction.path):
            for key in keys:
                (next_document,) = connection.execute(
                    "SELECT min(key) FROM documents WHERE key > ?", (key,)
                ).fetchone()
                ranges.append(KeyRange(key, (next_document or counters.next_key) - 1))
        self._transaction.delete(ranges)

    def restore_salt(self) -> None:
        """Write the salt of the index into the record again."""
        with self._transaction.changing() as connection:
            write_salt(connection, connection.salt)

    def recount(self) -> bool:
        """Make the counters agree with the tables, and commit; whether they were wrong before any repair."""
        counters = self._transaction.begin()
        with record.translated(self._transaction.path):
            totals = Totals.read(self._transaction.connection)
        deletions = self._transaction.rows_deleted
        wrong = (counters.documents, counters.chunks) != (totals.documents, totals.chunks)
        wrong |= counters.next_key < totals.end
        counters.documents, counters.chunks = totals.documents, totals.chunks
        counters.next_key = max(counters.next_key, totals.end)
        self._transaction.others_changed = True
        self._commit()
        return wrong and not deletions


class Writer:
    """The one writer of an index at a time; made by `Store.writer()`.

    Nothing is seen by readers before `commit`. Leaving the block normally commits what is pending; leaving it by an
    exception discards what was not committed.

    Attributes:
        repairs: changes that mend the record, for the store itself.
    """

    def __init__(
        self, connection: Connection, path: Path, views: Views, merges: Merges, legs: Iterable[str]
    ) -> None:
        self._views = views
        self._transaction = Transaction(connection, path, merges)
        legs_built = [views.legs[name] for name in legs]
        self._absent: set[str] = set()  # names that `known` did not find in the record
        self._pending = PendingDocuments(
            self._transaction,
            legs_built,
            lambda ids: self._absent.difference_update(ids),  # noqa: PLW0108 - `known` replaces the set
        )
        self.repairs = Repairs(self._transaction, self.commit)

    # --- reading

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is stored of these documents, by id, changes of this writer included; absent where unknown."""
        names = record.check_texts(list(ids), "document id")
        stored_facts = self._known(names)
        self._absent = set(names).difference(stored_facts)
        return stored_facts

    def _known(self, ids: Sequence[str]) -> dict[str, Known]:
        facts_by_id = self._pending.known(ids)
        if not self._transaction.begin().documents or self._absent.issuperset(ids):
            return facts_by_id
        unread_names = [name for name in ids if name not in facts_by_id and name not in self._absent]
        with record.translated(self._transaction.path):
            rows = record.select_in(
                self._transaction.connection,
                "id, content_hash, size, modified_ns",
                "documents",
                "id",
                unread_names,
            )
            facts_by_id.update(
                (name, Known(digest.hex(), size, modified)) for name, digest, size, modified in rows
            )
        return facts_by_id

    # --- in

    def put(
        self,
        document_id: str,
        content_hash: str,
        chunks: Sequence[Chunk],
        **facts: Unpack[DocumentFacts],
    ) -> bool:
        """Add a document, or replace the one with this id. Whole or not at all.

        Args:
            document_id: any string without lone surrogates.
            content_hash: hex; covers all that is indexed of it (text, title, metadata, how it was cut). Where it is
                the stored one, nothing is done, save that `size` and `modified_ns` are noted.
            chunks: in order; may be empty.
            facts: as of `DocumentFacts`.

        Returns:
            Whether anything changed.

        Raises:
            ArgumentError: a lone surrogate, a hash that is not hex, metadata that JSON cannot hold.
        """
        batch = DocumentBatch()
        batch.add(document_id, content_hash, chunks, **facts)
        return self.put_batch(batch) == 1

    def put_batch(self, batch: DocumentBatch) -> int:
        """Add or replace the documents of a batch, as `put` does for each; the batch is the writer's from now on.

        Returns:
            How many documents changed.
        """
        facts_by_id = self._known(batch.ids)
        if facts_by_id:
            unchanged_rows = set()
            for row, name in enumerate(batch.ids):
                stored_facts, now = facts_by_id.get(name), batch.known(row)
                if stored_facts is not None and stored_facts.content_hash == now.content_hash:
                    unchanged_rows.add(row)
                    if stored_facts != now:
                        self.touch(name, now.size, now.modified_ns)
            batch = batch.without(unchanged_rows)
            self._remove([name for name in batch.ids if name in facts_by_id])
        if len(batch):
            self._pending.add(batch)
        return len(batch)

    def touch(self, document_id: str, size: int, modified_ns: int | None) -> None:
        """Note another size or time of the file of a document whose content is the same."""
        if self._pending.touch(document_id, size, modified_ns):
            return
        with self._transaction.changing() as connection:
            values_of_row = connection.execute(
                f"SELECT {record.DOCUMENT_COLUMNS} FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
            document = DocumentRow._make(values_of_row)
            if not record.has_checksum(record.document_checksum, document, connection.salt):
                raise record.damaged_row(document_id)
            row = document._replace(size=size, modified_ns=modified_ns)
            connection.execute(
                "UPDATE documents SET size = ?, modified_ns = ?, checksum = ? WHERE key = ?",
                (size, modified_ns, record.document_checksum(row, connection.salt), row.key),
            )

    def note(self, name: str, value: str) -> None:
        """Keep a short text of the caller's own beside the documents, for `IndexSnapshot.notes`; "" forgets it."""
        with self._transaction.changing() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (f"note {name}",))
            if value:
                connection.execute("INSERT INTO meta VALUES (?, ?)", (f"note {name}", value))

    # --- out

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Remove documents with their text; the ids that were there, in the order given."""
        names = list(dict.fromkeys(record.check_text(name, "document_ids") for name in document_ids))
        facts_by_id = self._known(names)
        known_names = [name for name in names if name in facts_by_id]
        self._remove(known_names)
        return known_names

    def _remove(self, ids: Sequence[str]) -> None:
        """Remove documents that are there."""
        if not ids:
            return
        counters = self._transaction.begin()
        present_ids = self._pending.drop(ids)
        if not present_ids:
            return
        connection = self._transaction.connection
        with record.translated(self._transaction.path):
            rows = record.select_in(connection, "key, chunks", "documents", "id", present_ids)
        counters.documents -= len(rows)
        counters.chunks -= sum(chunks for _, chunks in rows)
        self._transaction.delete(KeyRange(key, key + chunks - 1) for key, chunks in rows)

    # --- embeddings

    def put_embeddings(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by content hash (hex), for `IndexSnapshot.embeddings`."""
        digest_pairs = [(digest_of(name), vector) for name, vector in vectors.items()]
        with self._transaction.changing() as connection:
            record.insert_embeddings(connection, fingerprint, digest_pairs)

    def forget_embeddings(self, keys: Iterable[int]) -> None:
        """Forget single vectors, by key."""
        with self._transaction.changing() as connection:
            connection.executemany("DELETE FROM embeddings WHERE key = ?", ((key,) for key in keys))

    # --- commit

    @property
    def pending_bytes(self) -> int:
        """Characters of text put since the last commit: callers commit from time to time to bound the log."""
        return self._pending.characters

    def commit(self) -> int:
        """Make everything so far durable and visible, in every leg that is not deferred, at once.

        Returns:
            The new version; the old one where nothing had changed.

        Raises:
            StoreError: the disk is full or fails; nothing of this commit is visible, all earlier ones are kept.
        """
        self._transaction.begin()
        self._pending.flush()
        self._pending.settle()
        copies = [segment.copy for segment in self._transaction.built if segment.copy]
        version = self._transaction.commit()
        if copies:
            self._views.own_segments = {segment.name: segment for segment in copies}
        self._pending.committed()
        self._absent = set()
        logger.debug("committed version %d", version)
        return version

    def change_manifest(self, change: Callable[[Connection], list[Built]]) -> None:
        """Commit a change of segments that changes no row. Only the store calls this.

        Args:
            change: edits the manifest in the open transaction; returns what it published.
        """
        with self._transaction.whole():
            with self._transaction.changing() as connection:
                self._transaction.built += change(connection)
            self.commit()

    def rollback(self) -> None:
        """Forget what was not committed."""
        self._transaction.rollback()
        self._absent = set()

    def end(self) -> None:
        """Discard what was not committed, and refuse further calls. Only the store calls this."""
        self._transaction.end()
        self._pending.end()
