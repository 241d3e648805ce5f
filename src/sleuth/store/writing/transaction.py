"""One transaction of the record: from BEGIN to COMMIT or ROLLBACK, with the segments that it names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from sleuth.errors import StoreError
from sleuth.store.catalogue import erasing
from sleuth.store.catalogue.building import Built
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection, Counters


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
