"""Documents that were put and are not in the record yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from sleuth import platform
from sleuth.store.catalogue.building import Flight, Prepared
from sleuth.store.legs.leg import Leg
from sleuth.store.record import layout as record
from sleuth.store.record.batch import DocumentBatch
from sleuth.store.record.rows import insert
from sleuth.store.record.values import Known
from sleuth.store.writing.transaction import Transaction

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

BATCH_BYTES = 8 << 20
"""Characters of text that are sent on their way together, about: bounds the memory of a bulk load."""
BATCH_ROWS = 1 << 14
"""Documents or chunks that are, where texts are short: each takes up to 5 kB until it is in the record."""


_NOTHING: Final = DocumentBatch()
"""Stands for a batch until there is one; it is never added to."""


class _Growing:
    """A batch with the row of each document."""

    def __init__(self) -> None:
        self.batch = _NOTHING
        self.rows: dict[str, int] = {}

    def extend(self, batch: DocumentBatch) -> None:
        first = len(self.batch)
        self.rows.update(zip(batch.ids, range(first, first + len(batch)), strict=True))
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

    Errors of preparing come up at the next `add`, `flush` or `settle`, and roll the transaction back.

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
        self._forget()

    def _forget(self) -> None:
        self._growing = _Growing()
        self._preparing = _Growing()
        self.characters = 0

    def known(self, ids: Iterable[str]) -> dict[str, Known]:
        """Return what is known of those of these documents that are pending."""
        return {**self._preparing.known(ids), **self._growing.known(ids)}

    def add(self, batch: DocumentBatch) -> None:
        """Add documents that are not pending; a large batch is handed to the builder."""
        self._transaction.begin()
        self._transaction.rows_changed = True
        self._growing.extend(batch)
        self.characters += batch.characters
        batch = self._growing.batch
        if batch.characters >= BATCH_BYTES or max(len(batch), len(batch.texts)) >= BATCH_ROWS:
            platform.give_blocks_back()  # this is a bulk load
            self.flush()

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

    def flush(self) -> None:
        """Hand the growing batch to the builder, and write the segments of the batch before it into the record."""
        flight = self._await_flight()
        batch = self._growing.batch
        self._preparing, self._growing = self._growing, _Growing()
        with self._transaction.whole():
            prepared = self._take_prepared(flight)
            if len(batch):
                self._flight = self._send(batch)
            if flight and prepared:
                self._write(flight.batch, prepared)

    def settle(self) -> None:
        """Write the batch of the builder into the record."""
        flight = self._await_flight()
        self._preparing = _Growing()
        with self._transaction.whole():
            prepared = self._take_prepared(flight)
            if flight and prepared:
                self._write(flight.batch, prepared)

    def committed(self) -> None:
        """Start again after a commit."""
        self._forget()

    def discard(self) -> None:
        """Forget all documents that are pending, and remove the files that were written for them."""
        if self._flight:
            self._flight.discard()
            self._flight = None
        self._forget()

    def end(self) -> None:
        """Release the thread."""
        if self._pool:
            self._pool.shutdown()

    def _send(self, batch: DocumentBatch) -> Flight:
        """Give the documents their keys, and have them prepared."""
        connection, path = self._transaction.connection, self._transaction.path
        counters = self._transaction.begin()
        first, counters.next_key = counters.next_key, counters.next_key + batch.span()
        last_key = counters.next_key - 1
        return Flight(batch, first, last_key, self._legs, connection.salt, path / "segments", self._thread)

    def _await_flight(self) -> Flight | None:
        """Wait for the batch under way and return it, ready to be written. Interrupted, it stays under way."""
        if self._flight:
            self._flight.wait()
        flight, self._flight = self._flight, None
        return flight

    def _take_prepared(self, flight: Flight | None) -> Prepared | None:
        """Return what was built for a batch, and list its segments with the transaction.

        So a rollback removes their files. None if no batch was under way.
        """
        if flight is None:
            return None
        prepared = flight.land()
        self._transaction.built += prepared.built
        return prepared

    def _write(self, batch: DocumentBatch, prepared: Prepared) -> None:
        counters, connection = self._transaction.begin(), self._transaction.connection
        counters.documents += len(batch)
        counters.chunks += len(batch.texts)
        with record.translated(self._transaction.path):
            insert(connection, prepared.documents)
            for segment in prepared.built:
                segment.publish(connection)
        self._written(batch.ids)

    def _thread(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "sleuth-build")
        return self._pool
