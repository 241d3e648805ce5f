"""One transaction of the record, from BEGIN to COMMIT or ROLLBACK, and the documents that are not in the record yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sleuth import platform
from sleuth.errors import StoreError
from sleuth.store.catalogue import erasing
from sleuth.store.catalogue.manifest import Built, write
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.legs.leg import Leg, SegmentData
from sleuth.store.passages.kind import OFFSETS, PASSAGES, RECORDS
from sleuth.store.passages.records import encode
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.layout import Connection, Counters, DocumentRow
from sleuth.store.record.scan import documents_of, insert, rows_of
from sleuth.store.record.values import Known

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor


class Transaction:
    """The changes of a writer since its last commit. Begins with the first change.

    Attributes:
        connection: only this transaction writes with it.
        counters: of the record, once it has begun.
        path: the folder of the index.
        built: segments that this transaction names.
        rows_changed: whether documents came or went, which makes a new version.
        rows_deleted: whether some went.
        others_changed: whether anything else changed, such as cached vectors.
        on_rollback: called before the changes are undone.
    """

    def __init__(self, connection: Connection, path: Path, merges: Merges) -> None:
        self.on_rollback: Callable[[], None] | None = None
        self.connection = connection
        self.path = path
        self._merges = merges
        self._ended = False
        self._reset()

    def _reset(self) -> None:
        self.counters: Counters | None = None
        self.built: list[Built] = []
        self.rows_changed = False
        self.rows_deleted = False
        self.others_changed = False

    def begin(self) -> Counters:
        """Begin, if that is still to be done; returns the counters, which the caller may change."""
        if self.counters is None:
            if self._ended:
                raise StoreError("this writer is done: take another with Store.writer()", path=str(self.path))
            with record.translated(self.path):
                self.connection.execute("BEGIN IMMEDIATE")
                self.counters = Counters.read(self.connection)
        return self.counters

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Roll back where the block fails, and raise errors of SQLite as Sleuth errors."""
        try:
            yield
        except BaseException as error:
            self.rollback()
            if isinstance(error, sqlite3.Error):
                raise record.translate(error, self.path) from error
            raise

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """Yield the connection for statements that change something other than rows."""
        self.begin()
        self.others_changed = True
        with record.translated(self.path):
            yield self.connection

    def delete(self, documents: Sequence[range]) -> None:
        """Delete documents with their chunks, and mark the chunks as dead in all segments.

        Args:
            documents: the keys of the chunks of each; that of the document is the first.
        """
        generation = self.begin().generation + 1
        self.rows_changed = self.rows_deleted = True
        connection = self.connection
        with record.translated(self.path):
            connection.executemany(
                "DELETE FROM documents WHERE key = ?", ((keys.start,) for keys in documents)
            )
            if connection.execute("SELECT EXISTS(SELECT 1 FROM segments)").fetchone()[0]:
                dead = ((key, generation) for keys in documents for key in keys)
                connection.executemany("INSERT OR REPLACE INTO tombstones VALUES (?, ?)", dead)
                erasing.erase_inline(connection, np.concatenate(list(map(np.asarray, documents))))

    def commit(self) -> Counters:
        """Make the changes durable and visible, in a block of `whole`; returns the counters of the record then."""
        counters = self.begin()
        merges = self._merges.apply(self.connection, self.path)
        if not (self.rows_changed or self.others_changed or merges):
            self.rollback()
            return counters
        try:
            counters.generation += 1
            counters.version += self.rows_changed
            segments = [*self.built, *(merge.built for merge in merges if merge.built)]
            deleted = self.rows_deleted
            if any(segment.held for segment in segments):
                sync_folder(self.path / "segments")
            counters.write(self.connection)
        except BaseException:
            self._merges.ready.extend(merges)  # for a later transaction
            raise
        self.built = []  # no rollback removes their files any more
        try:
            self.connection.execute("COMMIT")
            mark.write(self.path, counters.version, self.connection.salt)
            for segment in segments:
                segment.release()
            self._merges.done(merges, self.path)
        except BaseException:
            # The log may hold the whole commit although its sync failed: files stay until a sweep finds them orphaned.
            for segment in segments:
                segment.release()
            self._abandon()
            self._merges.forget(merges)
            raise
        self._reset()
        self._merges.committed(deleted=deleted)
        return counters

    def rollback(self) -> None:
        """Undo the changes, and remove the files that were written for them."""
        if self.on_rollback:
            self.on_rollback()
        for segment in self.built:
            segment.discard()
        self._abandon()

    def end(self) -> None:
        """Undo the changes, and refuse to begin again."""
        if self.counters is not None:
            self.rollback()
        self._ended = True

    def _abandon(self) -> None:
        with suppress(sqlite3.Error):  # after a failed write SQLite may have rolled back by itself
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        self._reset()


BATCH_BYTES = 8 << 20
"""Characters of text that are sent on their way together, about: bounds the memory of a bulk load."""
BATCH_ROWS = 1 << 14
"""Documents or chunks that are, where texts are short: each takes up to 5 kB until it is in the record."""
_WORTH_A_THREAD = 256


class _Growing:
    """A batch with the row of each document."""

    def __init__(self) -> None:
        self.batch = DocumentBatch()
        self.rows: dict[str, int] = {}

    def extend(self, batch: DocumentBatch) -> None:
        first = len(self.batch.ids)
        self.rows.update(zip(batch.ids, count(first), strict=False))
        if first:
            self.batch.extend(batch)
        else:
            self.batch = batch

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        return {name: self.batch.known(self.rows[name]) for name in self.rows.keys() & ids}

    def drop(self, ids: Iterable[str]) -> None:
        """Take documents out again. Linear in the batch, for the rare document put twice into one."""
        self.batch = self.batch.without({self.rows[name] for name in ids})
        self.rows = {name: row for row, name in enumerate(self.batch.ids)}


class Flight:
    """A batch that is being indexed: another thread builds its segments, while the writer goes on.

    Few rows are left to `land`, in the caller's thread: another one would cost more than it saves.

    Attributes:
        built: a segment of the passages and one for every leg.
        documents: what the record gets.
    """

    def __init__(  # noqa: PLR0917 - the inputs and settings of a segment
        self, batch: DocumentBatch, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path,
        pool: Callable[[], ThreadPoolExecutor],
    ) -> None:  # fmt: skip
        """Begin to index a batch.

        Args:
            first, last: the keys that it answers for.
            salt: of the index.
            pool: of a thread for this and one for each leg.
        """
        self.batch = batch
        self.built: list[Built] = []
        self.documents: list[DocumentRow] = []
        # A bound method in its place would keep the batch until a garbage collection.
        self._place = (first, last, legs, salt, folder)
        self._pool = pool() if len(batch.texts) >= _WORTH_A_THREAD else None
        self._future = self._pool.submit(self._prepare, *self._place) if self._pool else None

    def _prepare(self, first: int, last: int, legs: Sequence[Leg], salt: int, folder: Path) -> None:
        try:
            batch = self.batch
            keys = batch.keys(first)
            if batch.texts:
                offsets, records = encode(batch, keys.documents, salt)
                data = SegmentData({OFFSETS: offsets}, unsealed={RECORDS: [records]})
                self.built.append(write(PASSAGES, data, keys.chunks, None, first, last, folder))
                del data, offsets, records
                rows = rows_of(batch, keys)

                def build(leg: Leg) -> Built:
                    return write(leg, leg.build(rows), rows.keys, rows.tie_ranks, first, last, folder)

                if self._pool is None:
                    self.built.extend(map(build, legs))
                else:  # one leg counts words while another reads the same texts for vectors
                    futures = [self._pool.submit(build, leg) for leg in legs]
                    self.built += [future.result() for future in futures if not future.exception()]
                    for future in futures:
                        future.result()
            self.documents = documents_of(batch, keys.documents.tolist(), salt)
        except BaseException:
            for segment in self.built:
                segment.discard()
            raise

    def wait(self) -> None:
        """Wait until it can land at once. An interruption leaves it as it is."""
        if self._future:
            self._future.exception()

    def land(self) -> None:
        """Have its segments complete.

        Raises:
            Exception: what a leg raised; nothing is left on disk then.
        """
        if self._future:
            self._future.result()
        else:
            self._prepare(*self._place)

    def discard(self) -> None:
        """Remove the files that were written for it."""
        if self._future and not self._future.cancel():
            with suppress(Exception):  # the waiter gets the exception; ignore it here
                self._future.result()
                for segment in self.built:
                    segment.discard()


class PendingDocuments:
    """Two batches: one grows, the one before it is prepared for the record in another thread.

    Errors of preparing come up at the next `add` or `settle`, and roll the transaction back.

    Attributes:
        characters: of text put since the last commit.
        written: called with the ids of the documents that have come into the record.
    """

    def __init__(
        self, transaction: Transaction, legs: Sequence[Leg], on_written: Callable[[Collection[str]], None]
    ) -> None:
        self._transaction = transaction
        self._legs = legs
        self._written = on_written
        self._pool: ThreadPoolExecutor | None = None
        self._flight: Flight | None = None
        self._growing = _Growing()
        self._preparing = _Growing()
        self.characters = 0

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is known of those of these documents that are pending."""
        facts_by_id: dict[str, Known] = {}
        for part in (self._preparing, self._growing):
            if part.rows:
                facts_by_id |= part.known(ids)
        return facts_by_id

    def add(self, batch: DocumentBatch) -> None:
        """Add documents that are not pending; a large batch is handed to the builder."""
        self._transaction.begin()
        self._transaction.rows_changed = True
        self._growing.extend(batch)
        self.characters += batch.characters
        batch = self._growing.batch
        if batch.characters >= BATCH_BYTES or max(len(batch.ids), len(batch.texts)) >= BATCH_ROWS:
            platform.give_blocks_back()  # this is a bulk load
            self.settle(send=True)

    def drop(self, ids: Sequence[str]) -> list[str]:
        """Take out those of these documents that are pending; returns the others.

        Documents that are being prepared come into the record first, and are among the others.
        """
        if any(name in self._preparing.rows for name in ids):
            self.settle()
        pending = [name for name in ids if name in self._growing.rows]
        if pending:
            self._growing.drop(pending)
        return [name for name in ids if name not in pending] if pending else list(ids)

    def settle(self, *, send: bool = False) -> None:
        """Write the segments of the builder's batch into the record.

        Args:
            send: hand the growing batch to the builder meanwhile.
        """
        if flight := self._flight:
            flight.wait()  # interrupted, it stays under way
            self._flight = None
        self._preparing = _Growing()
        if send:
            self._preparing, self._growing = self._growing, self._preparing
        transaction, batch = self._transaction, self._preparing.batch
        with transaction.whole():
            if flight:
                flight.land()
                transaction.built += flight.built  # so a rollback removes their files
            counters, connection = transaction.begin(), transaction.connection
            if batch.ids:  # they get their keys
                first, counters.next_key = counters.next_key, counters.next_key + batch.span()
                last_key, folder = counters.next_key - 1, transaction.path / "segments"
                self._flight = Flight(
                    batch, first, last_key, self._legs, connection.salt, folder, self._thread
                )
            if flight:
                counters.documents += len(flight.batch.ids)
                counters.chunks += len(flight.batch.texts)
                insert(connection, flight.documents)
                for segment in flight.built:
                    segment.publish(connection)
                self._written(flight.batch.ids)

    def discard(self) -> None:
        """Forget all documents that are pending, and remove the files that were written for them."""
        if self._flight:
            self._flight.discard()
            self._flight = None
        self._growing, self._preparing = _Growing(), _Growing()
        self.characters = 0

    def end(self) -> None:
        """Release the thread."""
        if self._pool:
            self._pool.shutdown()

    def _thread(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            self._pool = ThreadPoolExecutor(1 + len(self._legs), "sleuth-build")
        return self._pool
