"""Changes of the record that mend it, for the checks of the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sleuth.store.record import layout as record
from sleuth.store.record.counters import Totals
from sleuth.store.record.salt import write_salt
from sleuth.store.writing.transaction import KeyRange, Transaction


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
                after = connection.execute("SELECT min(key) FROM documents WHERE key > ?", (key,)).fetchone()[
                    0
                ]
                ranges.append(KeyRange(key, (after or counters.next_key) - 1))
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
