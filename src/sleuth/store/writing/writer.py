"""The one writer of an index: puts documents, deletes them, commits, and mends the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from sleuth.logs import logger_of
from sleuth.store.catalogue.manifest import Built
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.views import Views
from sleuth.store.record import layout as record
from sleuth.store.record.batch import DocumentBatch, digest_of
from sleuth.store.record.layout import Connection, EmbeddingRow, embedding_checksum
from sleuth.store.record.values import Counts, FileFacts, Known, KnownFile
from sleuth.store.writing.transaction import PendingDocuments, Transaction

logger = logger_of("store")


class Writer:
    """The one writer of an index at a time; made by `Store.writer()`.

    Nothing is seen by readers before `commit`. Leaving the block normally commits what is pending; leaving it by an
    exception discards what was not committed.

    Attributes:
        transaction: the changes since the last commit, for the store itself.
        counts: of documents and chunks as of its last commit; None before.
    """

    def __init__(
        self, connection: Connection, path: Path, views: Views, merges: Merges, legs: Iterable[str]
    ) -> None:
        self._views = views
        self.transaction = Transaction(connection, path, merges)
        legs_built = [views.legs[name] for name in legs]
        self._absent: set[str] = set()  # names that `known` did not find in the record
        self._pending = PendingDocuments(self.transaction, legs_built, self._absent.difference_update)
        self._files: dict[str, FileFacts] = {}
        self._doubts: dict[str, tuple[int, int]] = {}
        self.counts: Counts | None = None
        self._version: int | None = None  # of the last commit
        self._merges = merges
        self.transaction.on_rollback = self._discard

    def _discard(self) -> None:
        """Forget what is pending, since the transaction is undone."""
        self._pending.discard()
        self._absent.clear()  # what was deleted is there again
        self._files, self._doubts = {}, {}

    # --- reading

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is stored of these documents, by id, changes of this writer included; absent where unknown."""
        names = record.check_texts(list(ids), "document id")
        stored_facts = self._known(names)
        self._absent.clear()
        self._absent.update(set(names).difference(stored_facts))
        return stored_facts

    def _known(self, ids: Sequence[str]) -> dict[str, Known]:
        facts_by_id = self._pending.known(ids)
        if not self.transaction.begin().documents or self._absent.issuperset(ids):
            return facts_by_id
        unread_names = [name for name in ids if name not in facts_by_id and name not in self._absent]
        with record.translated(self.transaction.path):
            rows = record.select_in(
                self.transaction.connection,
                "id, content_hash, json_extract(metadata, '$.modified')",
                "documents",
                "id",
                unread_names,
            )
            facts_by_id.update((name, Known(digest.hex(), modified)) for name, digest, modified in rows)
        return facts_by_id

    # --- in

    def put_batch(self, batch: DocumentBatch) -> int:
        """Add the documents of a batch, or replace those with these ids; the batch is the writer's from now on.

        A document is whole or not there at all. Where its content hash is the stored one, nothing is done, unless the
        `modified` of its metadata is another.

        Returns:
            How many documents changed.
        """
        facts_by_id = self._known(batch.ids)
        if facts_by_id:
            unchanges = set()
            for row, name in enumerate(batch.ids):
                stored_facts = facts_by_id.get(name)
                if stored_facts is not None and batch.known(row).is_kept_by(stored_facts):
                    unchanges.add(row)
            batch = batch.without(unchanges)
            self._remove([name for name in batch.ids if name in facts_by_id])
        if batch.ids:
            self._pending.add(batch)
        return len(batch.ids)

    def note_file(self, name: str, **facts: Unpack[FileFacts]) -> None:
        """Note facts of a file, beside those that are noted; a file without any fact is forgotten."""
        self._files.setdefault(name, {}).update(facts)
        if len(self._files) >= record.MANY:
            with self.transaction.whole():
                self._note_files()

    def doubt_file(self, name: str, documents: int, own_ids: int) -> None:
        """Note that documents of a file are changing: it has no version, and no fewer documents than before or now."""
        self._doubts[name] = max(documents, 2), own_ids
        self.note_file(name, version=None)

    def _note_files(self) -> None:
        """Write what was noted of files, many in one statement, in a block of `Transaction.whole`."""
        files, self._files, doubts, self._doubts = self._files, {}, self._doubts, {}
        transaction = self.transaction
        transaction.begin()
        connection, salt = transaction.connection, transaction.connection.salt
        rows = record.select_in(connection, record.FILE_COLUMNS, "files", "name", list(files))
        row_by_name = {row.name: row for row in record.sound_files(rows, salt)}
        changes: list[KnownFile] = []
        for name, facts in files.items():
            former_row = row_by_name.get(name, KnownFile(name))
            row = former_row._replace(**facts)
            if doubt := doubts.get(name):
                documents, own_ids = doubt
                row = row._replace(documents=max(row.documents, documents), own_ids=max(row.own_ids, own_ids))
            if row != former_row:
                changes.append(row)
        marks = ", ".join("?" * (len(KnownFile._fields) + 1))
        forgotten = [(row.name,) for row in changes if row == KnownFile(row.name)]
        values = [(*row, record.file_checksum(row, salt)) for row in changes if row != KnownFile(row.name)]
        connection.executemany("DELETE FROM files WHERE name = ?", forgotten)
        connection.executemany(f"INSERT OR REPLACE INTO files VALUES ({marks})", values)
        transaction.others_changed |= bool(changes)

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
        counters = self.transaction.begin()
        present_ids = self._pending.drop(ids)
        if not present_ids:
            return
        connection = self.transaction.connection
        with record.translated(self.transaction.path):
            rows = record.select_in(connection, "key, chunks", "documents", "id", present_ids)
        counters.documents -= len(rows)
        counters.chunks -= sum(chunks for _, chunks in rows)
        self.transaction.delete([range(key, key + chunks) for key, chunks in rows])

    # --- embeddings

    def put_embeddings(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by content hash (hex), for `IndexSnapshot.embeddings`."""
        digest_pairs = [(digest_of(name), vector) for name, vector in vectors.items()]
        with self.transaction.changing() as connection:
            connection.execute("INSERT OR IGNORE INTO models(fingerprint) VALUES (?)", (fingerprint,))
            query = "SELECT model FROM models WHERE fingerprint = ?"
            (model,) = connection.execute(query, (fingerprint,)).fetchone()
            rows = [EmbeddingRow(0, model, 0, digest, vector) for digest, vector in digest_pairs]
            connection.executemany(
                "INSERT OR REPLACE INTO embeddings(model, checksum, hash, vector) VALUES (?, ?, ?, ?)",
                ((model, embedding_checksum(row, connection.salt), row.hash, row.vector) for row in rows),
            )

    def forget_embeddings(self, keys: Iterable[int]) -> None:
        """Forget single vectors, by key."""
        with self.transaction.changing() as connection:
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
        if self._version is not None and not (self.transaction.counters or self._files or self._merges.ready):
            return self._version  # nothing has changed since
        self.transaction.begin()
        self._pending.settle(send=True)
        self._pending.settle()
        with self.transaction.whole():
            if self._files:
                self._note_files()
            built = [*self.transaction.built, *(merge.built for merge in self._merges.ready)]
            opened = [segment.opened for segment in built if segment and segment.opened]
            if opened:  # before readers see the version that names them
                self._views.own_segments = {segment.name: segment for segment in opened}
            counters = self.transaction.commit()
        self._version, self.counts = counters.version, Counts(counters.documents, counters.chunks)
        self._pending.characters = 0
        self._absent.clear()
        logger.debug("committed version %d", counters.version)
        return counters.version

    def change_manifest(self, change: Callable[[Connection], list[Built]]) -> None:
        """Commit a change of segments that changes no row. Only the store calls this.

        Args:
            change: edits the manifest in the open transaction; returns what it published.
        """
        with self.transaction.whole():
            with self.transaction.changing() as connection:
                self.transaction.built += change(connection)
            self.commit()

    def end(self) -> None:
        """Discard what was not committed, and refuse further calls. Only the store calls this."""
        self.transaction.end()
        self._pending.end()
