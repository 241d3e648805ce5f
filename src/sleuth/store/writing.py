"""How do documents get into the index, and out of it?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import StoreError
from sleuth.store.catalogue import mark
from sleuth.store.catalogue.building import Built, Flight, Prepared
from sleuth.store.catalogue.manifest import Views
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.record import layout as record
from sleuth.store.record import rows
from sleuth.store.record.batch import Batch
from sleuth.store.record.codebook import LEARNING_REST
from sleuth.store.record.layout import Connection, DocumentValues
from sleuth.store.record.values import Known

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from sleuth.types import Chunk

BATCH_BYTES = 8 << 20
"""Characters of text that are sent on their way together, about: bounds the memory of a bulk load."""


@dataclass(slots=True)
class _State:
    """The row of `state`, as this transaction changes it."""

    version: int
    generation: int
    next_key: int
    documents: int
    chunks: int


class Writer:
    """The one writer of an index at a time; made by `Store.writer()`.

    Nothing is seen by readers before `commit`. Leaving the block normally commits what is pending; leaving it by an
    exception discards what was not committed.
    """

    def __init__(
        self, connection: Connection, path: Path, views: Views, merges: Merges, legs: Iterable[str]
    ) -> None:
        self._connection = connection
        self._path = path
        self._views = views
        self._merges = merges
        self._legs = [views.legs[name] for name in legs]
        self._ended = False
        self._pool: ThreadPoolExecutor | None = None
        self._unlearned = LEARNING_REST  # characters put since a codebook was learned
        self._reset()

    def _reset(self) -> None:
        self._state: _State | None = None
        self._batch = Batch()
        self._flying = Batch()  # the one before it
        self._flight: Flight | None = None
        self._absent: set[str] = set()  # names that `known` did not find in the record
        self._batch_bytes = 0
        self._pending_bytes = 0
        self._built: list[Built] = []
        self._changed = False  # rows
        self._deleted = False
        self._noted = False  # anything else

    # --- what is there

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """What is stored of these documents, by id, changes of this writer included; absent where unknown."""
        names = record.check_texts(list(ids), "document id")
        found = self._find(names)
        self._absent = set(names).difference(found)
        return {name: Known(values[5].hex(), values[2], values[3]) for name, values in found.items()}

    def _find(self, ids: Sequence[str]) -> dict[str, DocumentValues]:
        """Stored and pending documents, by id."""
        found: dict[str, DocumentValues] = {}
        for unwritten in (self._flying, self._batch):
            found.update(unwritten.find(ids))
        absent = self._absent
        if self._begin().documents and not absent.issuperset(ids):
            asked = [name for name in ids if name not in found and name not in absent]
            with record.translated(self._path):
                stored = record.select_in(self._connection, record.DOCUMENT_COLUMNS, "documents", "id", asked)
                found.update((row[6], row) for row in stored)
        return found

    # --- in

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
        name, digest = record.check_text(document_id, "document_id"), rows.digest(content_hash)
        own, own_text = rows.own_metadata(metadata, source, title)
        origin = rows.text_or_none(source, name, "source")
        heading = rows.text_or_none(title, "", "title")
        parts, fields, details = rows.chunk_facts(chunks)
        old = self._find([name]).get(name)
        if old is not None and old[5] == digest:
            self._note(old, size, modified_ns)
            return False
        if old is not None:
            self._remove([old])
        state = self._begin()
        key, state.next_key = state.next_key, state.next_key + max(1, len(parts))
        document = rows.document(key, len(parts), size, modified_ns, digest, name, origin, heading, own_text)
        self._batch.add(
            document,
            own,
            [rows.chunk(key + n, n, *row) for n, row in enumerate(parts)],
            {key + n: value for n, value in fields.items()},
            {key + n: value for n, value in details.items()},
        )
        self._added(1, sum(len(row[-1]) for row in parts), len(parts))
        return True

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

        As `put` for each with one chunk that is the whole text. All sequences have the length of `ids`; of equal ids
        the last stands.

        Returns:
            How many documents changed.
        """
        parts = rows.distinct(ids, texts, hashes, metadata, sources, titles)
        return sum(map(self._put_slice, parts))

    def _put_slice(self, passages: rows.Passages) -> int:
        """Passages with distinct ids."""
        ids = passages.ids
        found = self._find(ids)
        if found:
            same = {
                i for i, name in enumerate(ids) if name in found and found[name][5] == passages.digests[i]
            }
            passages = passages.without(same)
        state, count = self._begin(), len(passages)
        self._remove([found[name] for name in passages.ids if name in found])
        first, state.next_key = state.next_key, state.next_key + count
        self._batch.extend(first, passages)
        self._added(count, sum(map(len, passages.texts)), count)
        return count

    def _added(self, documents: int, size: int, chunks: int) -> None:
        """Count what came into the batch, and write the batch out when it is large."""
        if not documents:
            return
        state = self._begin()
        state.documents += documents
        state.chunks += chunks
        self._changed = True
        self._pending_bytes += size
        self._batch_bytes += size
        if self._batch_bytes >= BATCH_BYTES:
            self._flush()

    def _note(self, old: DocumentValues, size: int, modified_ns: int | None) -> None:
        """Another size or time of a file whose content is the same."""
        if (old[2], old[3]) == (size, modified_ns):
            return
        new = rows.document(old[0], old[1], size, modified_ns, *old[5:])
        if old[6] in self._batch.names():
            self._batch.replace(new)
            return
        if old[6] in self._flying.names():
            self._settle()
        self._noted = True
        self._execute(
            "UPDATE documents SET size = ?, modified_ns = ?, checksum = ? WHERE key = ?", (*new[2:5], new[0])
        )

    def note(self, name: str, value: str) -> None:
        """Keep a short text of the caller's own beside the documents, for `Snapshot.notes`; "" forgets it."""
        self._begin()
        self._noted = True
        self._execute("DELETE FROM meta WHERE name = ?", (f"note {name}",))
        if value:
            self._execute("INSERT INTO meta VALUES (?, ?)", (f"note {name}", value))

    # --- out

    def delete(self, document_ids: Iterable[str]) -> list[str]:
        """Remove documents with their text; the ids that were found, in the order given."""
        names = list(dict.fromkeys(record.check_text(name, "document_ids") for name in document_ids))
        found = self._find(names)
        self._remove(list(found.values()))
        return [name for name in names if name in found]

    def _remove(self, documents: Sequence[DocumentValues]) -> None:
        state = self._begin()
        if any(document[6] in self._flying.names() for document in documents):
            self._settle()
        stored = []
        for document in documents:
            state.documents -= 1
            state.chunks -= document[1]
            if document[6] in self._batch.names():
                self._batch.drop(document[6])
            else:
                stored.append(document)
        if not stored:
            return
        self._changed = self._deleted = True
        connection, generation = self._connection, state.generation + 1
        ranges = [(row[0], row[0] + row[1] - 1) for row in stored]
        with record.translated(self._path):
            connection.executemany("DELETE FROM chunks WHERE key BETWEEN ? AND ?", ranges)
            connection.executemany("DELETE FROM documents WHERE key = ?", ((row[0],) for row in stored))
            if connection.execute("SELECT EXISTS(SELECT 1 FROM segments)").fetchone()[0]:
                dead = ((key, generation) for first, last in ranges for key in range(first, last + 1))
                connection.executemany("INSERT INTO tombstones VALUES (?, ?)", dead)

    # --- embeddings

    def put_embeddings(self, fingerprint: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by content hash (hex), for `Snapshot.embeddings`."""
        self._begin()
        self._noted = True
        with record.translated(self._path):
            record.insert_embeddings(
                self._connection,
                fingerprint,
                ((rows.digest(name), vector) for name, vector in vectors.items()),
            )

    def drop_embeddings(self, fingerprint: str) -> int:
        """Forget the vectors of one embedder; how many there were."""
        self._begin()
        self._noted = True
        with record.translated(self._path):
            return record.delete_embeddings(self._connection, fingerprint)

    # --- for repairs

    def forget_documents(self, keys: Sequence[int]) -> None:
        """For the store itself: remove documents that the record has lost a part of, with what is left of them."""
        generation = self._begin().generation + 1
        self._changed = self._deleted = True
        with record.translated(self._path):
            for key in keys:
                after = self._connection.execute(
                    "SELECT min(key) FROM documents WHERE key > ?", (key,)
                ).fetchone()[0]
                last = (after or self._begin().next_key) - 1
                self._connection.execute("DELETE FROM chunks WHERE key BETWEEN ? AND ?", (key, last))
                self._connection.execute("DELETE FROM documents WHERE key = ?", (key,))
                self._connection.executemany(
                    "INSERT OR REPLACE INTO tombstones VALUES (?, ?)",
                    ((k, generation) for k in range(key, last + 1)),
                )

    def forget_embeddings(self, keys: Sequence[int]) -> None:
        """For the store itself: remove cached vectors."""
        self._begin()
        self._noted = True
        with record.translated(self._path):
            self._connection.executemany("DELETE FROM embeddings WHERE key = ?", ((key,) for key in keys))

    def recount(self) -> bool:
        """For the store itself: make the counters agree with the tables, and commit; whether they were wrong."""
        state = self._begin()
        with record.translated(self._path):
            documents, chunks, next_key = self._connection.execute(
                "SELECT count(*), coalesce(sum(chunks), 0), coalesce(max(key + max(chunks, 1)), 1) FROM documents"
            ).fetchone()
        expected = self._changed  # by the removal of documents
        wrong = (state.documents, state.chunks) != (documents, chunks) or state.next_key < next_key
        state.documents, state.chunks, state.next_key = documents, chunks, max(state.next_key, next_key)
        self._noted = True
        self._commit()
        return wrong and not expected

    # --- commit

    @property
    def pending_bytes(self) -> int:
        """Characters of text put since the last commit: callers commit from time to time to bound the log."""
        return self._pending_bytes

    def commit(self) -> int:
        """Make everything so far durable and visible, in every leg that is not deferred, at once.

        Returns:
            The new version; the old one where nothing had changed.

        Raises:
            StoreError: the disk is full or fails; nothing of this commit is visible, all earlier ones are kept.
        """
        return self._commit()

    def change_manifest(self, change: Callable[[Connection], list[Built]]) -> None:
        """For the store itself: commit a change of segments that changes no row.

        Args:
            change: edits the manifest in the open transaction; returns what it published.
        """
        self._begin()
        try:
            with record.translated(self._path):
                self._built += change(self._connection)
            self._noted = True
            self._commit()
        except BaseException:
            self.rollback()
            raise

    def _commit(self) -> int:
        state = self._begin()
        self._flush()
        self._settle()
        try:
            merged = self._merges.apply(self._connection, self._path)
        except BaseException:
            self.rollback()
            raise
        if not (self._changed or self._noted or merged):
            self.rollback()
            return state.version
        state.generation += 1
        state.version += self._changed
        try:
            if any(built.held for built in self._built) or any(m.built and m.built.held for m in merged):
                sync_folder(self._path / "segments")
            self._execute(
                "UPDATE state SET version = ?, generation = ?, next_key = ?, documents = ?, chunks = ?",
                (state.version, state.generation, state.next_key, state.documents, state.chunks),
            )
        except BaseException:
            self._merges.put_back(merged)
            self.rollback()
            raise
        try:
            self._execute("COMMIT")
        except BaseException:
            # The log may hold the whole commit although its sync failed: files stay until a sweep finds them orphaned.
            self._abandon()
            self._merges.forget(merged)
            raise
        mark.write(self._path, state.version)
        self._connection.books.keep()
        for built in self._built:
            built.release()
        self._merges.done(merged, self._path)
        deleted = self._deleted
        self._reset()
        self._merges.committed(deleted=deleted)
        return state.version

    def rollback(self) -> None:
        """Forget what was not committed."""
        if self._flight:
            self._flight.discard()
        for built in self._built:
            built.discard()
        self._abandon()

    def _abandon(self) -> None:
        for built in self._built:
            built.release()
        with suppress(sqlite3.Error):  # after a failed write SQLite may have rolled back by itself
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        self._connection.books.forget()
        self._reset()

    def _flush(self) -> None:
        """Send the batch on its way, and write into the record what the one before it has become."""
        before = self._arrived()
        batch, self._batch = self._batch, Batch()
        self._flying = batch
        self._unlearned += self._batch_bytes
        self._batch_bytes = 0
        try:
            prepared = self._unload(before)
            if batch.documents:
                may_learn = self._unlearned >= LEARNING_REST
                coder = self._connection.books.coder(self._connection, may_learn=may_learn)
                first, last = batch.first(), self._begin().next_key - 1
                folder = self._path / "segments"
                self._flight = Flight(batch, first, last, self._legs, coder, folder, self._thread)
            if before and prepared:
                self._write(before.batch, prepared)
        except BaseException:
            self.rollback()
            raise

    def _settle(self) -> None:
        """Write into the record what is on its way."""
        before = self._arrived()
        self._flying = Batch()
        try:
            if before and (prepared := self._unload(before)):
                self._write(before.batch, prepared)
        except BaseException:
            self.rollback()
            raise

    def _arrived(self) -> Flight | None:
        """The batch that was on its way, ready to be written."""
        if self._flight:
            self._flight.wait()
        flight, self._flight = self._flight, None
        return flight

    def _unload(self, flight: Flight | None) -> Prepared | None:
        """What it has become; from here on its segments are this transaction's."""
        if flight is None:
            return None
        prepared = flight.land()
        self._built += prepared.built
        if prepared.learned:
            self._unlearned = 0
            with record.translated(self._path):
                self._connection.books.add(self._connection, prepared.learned)
        return prepared

    def _write(self, batch: Batch, prepared: Prepared) -> None:
        with record.translated(self._path):
            for values in prepared.tables:
                record.insert(self._connection, values)
            self._absent.difference_update(batch.names())
            for segment in prepared.built:
                segment.publish(self._connection)

    def _thread(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "sleuth-build")
        return self._pool

    def end(self) -> None:
        """For the store itself: forget what was not committed, and refuse to go on."""
        self.rollback()
        self._ended = True
        if self._pool:
            self._pool.shutdown()

    def _begin(self) -> _State:
        if self._state is None:
            if self._ended:
                raise StoreError(
                    "this writer is done: take another with Store.writer()", path=str(self._path)
                )
            self._execute("BEGIN IMMEDIATE")
            with record.translated(self._path):
                row = self._connection.execute(
                    "SELECT version, generation, next_key, documents, chunks FROM state"
                ).fetchone()
            self._state = _State(*row)
        return self._state

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> None:
        with record.translated(self._path):
            self._connection.execute(statement, values)
