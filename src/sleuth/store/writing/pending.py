"""Documents that were put and are not in the record yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from sleuth import platform
from sleuth.store.catalogue.building import Flight
from sleuth.store.legs.leg import Leg
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.scan import insert
from sleuth.store.record.values import Known
from sleuth.store.writing.transaction import Transaction

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BATCH_BYTES = 8 << 20
"""Characters of text that are sent on their way together, about: bounds the memory of a bulk load."""
BATCH_ROWS = 1 << 14
"""Documents or chunks that are, where texts are short: each takes up to 5 kB until it is in the record."""


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
