"""The store: an index folder with its record, its segments and its writer.

`Store` is an index folder: the record, which is one SQLite database; segments, which legs derive from it and which
can always be rebuilt; and the lock of the one writer.

    store = Store.open("index", create=True, settings={"analyzer": "english"})
    store.attach([LexicalLeg(...)])
    with store.writer() as writer:
        batch = DocumentBatch()
        batch.add("a.txt", text_hash("words"), [Chunk("words", 0, 5, 1, 1)])
        writer.put_batch(batch)
    with store.reader() as snapshot:
        views = snapshot.segments(LexicalLeg.name)
    store.close()
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from sleuth import platform
from sleuth.errors import IndexDamagedError, IndexLockedError, IndexNotFoundError
from sleuth.logs import logger_of
from sleuth.store.catalogue import erasing, manifest, merging, schema
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.manifest import SegmentMissingError
from sleuth.store.catalogue.merging import Merges
from sleuth.store.catalogue.segments import verify
from sleuth.store.catalogue.views import Views
from sleuth.store.disk.files import DOCUMENTS, failing_disk
from sleuth.store.health import mending, opening
from sleuth.store.legs.leg import Leg
from sleuth.store.reading.snapshot import IndexSnapshot
from sleuth.store.record import layout as record
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection
from sleuth.store.record.metadata import as_json
from sleuth.store.record.scan import ranks_of
from sleuth.store.record.values import Finding, Repair, Status

if TYPE_CHECKING:
    from sleuth.store.catalogue.manifest import Built
    from sleuth.store.writing.writer import Writer

logger = logger_of("store")

_FREE_SHARE = 0.25
"""Of the pages: with more free ones, writing the database anew gives room back that is worth the copy."""
_MEND_TIMEOUT = 0.2
"""Seconds for which opening waits to mend: whoever writes meanwhile mends, too."""


class Store:
    """An open index folder. Safe to share between threads; usable in a forked child.

    Attributes:
        path: the folder.
        settings: what was given when the index was made.
        writable: whether this process may write; readers of a read-only folder may not.
    """

    def __init__(self, path: Path, *, writable: bool, immutable: bool = False) -> None:
        """Create a store; users call `open`."""
        self.path = path
        self.writable = writable
        self.settings: Mapping[str, Any] = {}
        self._database = database = Database(path, DOCUMENTS, writable=writable, immutable=immutable)
        self._connection = database.connection
        self._views = Views(database.segments)
        self._merges = Merges(self._merge_once)
        self._lost = ""
        platform.at_fork("after_in_child", self._after_fork)

    # --- opening

    @staticmethod
    def is_at(path: str | Path) -> bool:
        """Return whether there is an index at `path`; raises as `open` does for one that does not open."""
        return opening.probe(schema.folder_at(path)).whole

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        create: bool = False,
        settings: Mapping[str, Any] | None = None,
        read_only: str = "",
    ) -> Store:
        """Open the index at `path`.

        Args:
            create: make a missing index; an existing one is opened as it is.
            settings: JSON values kept with a new index; not compared with those of an old one.
            read_only: why no process changes it, which a writer is told.

        Raises:
            ArgumentError: an impossible path.
            IndexNotFoundError: no index there, and not asked to make one.
            FormatVersionError: made by another version of the format.
            IndexDamagedError: the record does not open; the message says what remains.
        """
        folder = schema.folder_at(path)
        access = opening.probe(folder)
        if create and not access.whole:
            opening.create(folder, settings or {})
            access = opening.probe(folder)
        note = mark.read(folder)
        if not access.whole:
            remains = ", only what a broken-off creation left" if (folder / DOCUMENTS.record).exists() else ""
            raise IndexNotFoundError(
                f"no index at {folder}{remains}: make one with create=True", path=str(folder)
            )
        if read_only:
            access = access._replace(writable=False, immutable=True)
        store = cls(folder, writable=access.writable, immutable=access.immutable)
        store._database.read_only = read_only or store._database.read_only
        try:
            with store._connection() as connection:
                mark.refuse_other(store.path, connection.salt, note)
                store.settings = MappingProxyType(record.read_settings(connection))
                store._lost = opening.lost(note.version, record.Counters.read(connection).version)
        except BaseException:
            store.close()
            raise
        return store

    def attach(self, legs: Sequence[Leg], *, deferred: Collection[str] = ()) -> list[Repair]:
        """Serve these legs from now on, and mend what they lack.

        Segments that are missing, damaged or of another fingerprint are rebuilt from the record and rows that no
        segment covers are indexed: on disk where this process may write and nobody else does, else in memory.

        Args:
            deferred: names of legs whose rows are expensive: commits leave them uncovered until `build`.

        Returns:
            What was mended; empty for a healthy index.
        """
        self._views.attach(legs, frozenset(deferred))
        repairs = [Repair("record", self._lost)] if self._lost else []
        problems, reason = self._problems(), "" if self.writable else "this process may not write here"
        if problems and not reason:
            try:
                with self._writing(_MEND_TIMEOUT, sweep=False) as writer, self._connection() as connection:
                    repairs += mending.mend(connection, writer, self._views)
            except IndexDamagedError as error:  # passages are damaged, which a repair takes out
                repairs.append(Repair("passages", str(error)))
            except IndexLockedError as error:
                reason = f"process {error.holder.get('pid', '?')} is writing"
        if reason:
            why = f"served from the memory of this process, since {reason}"
            repairs += [Repair(problem.leg.name, f"{problem.why}: {why}") for problem in problems]
        for repair in repairs:
            logger.warning("%s: %s", repair.what, repair.why)
        return repairs

    def _problems(self) -> list[mending.Problem]:
        """Return the problems of the newest version: a merge commits before it removes its inputs."""
        with self._connection() as connection:
            while True:
                generation, _ = connection.hold()
                problems = mending.problems(connection, self._views)
                connection.let_go()
                if not problems or generation == connection.hold()[0]:
                    return problems
                connection.let_go()

    # --- writing

    @contextmanager
    def writer(self, *, timeout: float = 10.0) -> Iterator[Writer]:
        """Become the one writer, over all threads and processes, for the length of a block.

        Args:
            timeout: seconds to wait for the writer before.

        Raises:
            IndexLockedError: another writer holds the index; names it.
            StoreError: this process may not write here.
        """
        with self._writing(timeout) as writer:
            yield writer
            writer.commit()

    @contextmanager
    def _writing(self, timeout: float = 10.0, *, sweep: bool = True) -> Iterator[Writer]:
        """`writer`, without the commit at its end; `sweep` may remove files that a crash left."""
        from sleuth.store.writing.writer import Writer

        with self._database.locked(timeout, sweep=sweep) as connection:
            legs = [name for name in self._views.legs if name not in self._views.deferred]
            writer = Writer(connection, self.path, self._views, self._merges, legs)
            try:
                yield writer
            finally:
                writer.end()

    def build(  # waits as long as `writer`
        self, leg: str, progress: Callable[[int, int], None] | None = None, *, timeout: float = 10.0
    ) -> int:
        """Index the rows that this leg does not cover; each batch is committed, so it can be broken off and resumed.

        Args:
            progress: called with rows done and rows to do.
            timeout: seconds to wait for the writer's lock.

        Returns:
            Rows indexed.
        """
        with self._connection() as connection:
            return mending.build(
                connection, self._views, self._views.legs[leg], lambda: self._writing(timeout), progress
            )

    def remake(self, leg: str, settings: Mapping[str, Any], *, vectors_of: str = "") -> None:
        """Forget what a leg holds, and keep other settings, in one commit; before `attach`, which builds it again.

        Args:
            vectors_of: the fingerprint whose cached vectors stay; those of others are forgotten.
        """
        stored = as_json(settings, "settings")
        text = stored.text if stored else "{}"

        def change(connection: Connection) -> list[Built]:
            connection.execute("UPDATE meta SET value = ? WHERE name = 'settings'", (text,))
            connection.execute("DELETE FROM models WHERE fingerprint != ?", (vectors_of,))
            return []

        with self._writing() as writer, self._connection() as connection:
            mending.exchange(writer, self._views, manifest.entries(connection, leg), change)
        self.settings = MappingProxyType(dict(settings))

    def compact(self) -> None:
        """Merge every leg into one segment, without deleted rows, and give free space back to the disk."""
        self.wait()
        with self._writing() as writer:
            for name in self._views.kinds:
                if merge_result := self._merge([name], whole=True):
                    self._merges.ready.append(merge_result)
            writer.commit()
        with self._connection(write=True) as connection:
            (free,) = connection.execute("PRAGMA freelist_count").fetchone()
            if free > _FREE_SHARE * connection.execute("PRAGMA page_count").fetchone()[0]:
                connection.execute("VACUUM")
        self._checkpoint(force=True)

    def wait(self) -> None:
        """Wait until all merges that are due are done; raises what they raised."""
        if self.writable:
            self._merges.committed(deleted=False)
        self._merges.wait()

    # --- in the background

    def _merge_once(self) -> bool:
        """Run one merge, or after the last one overwrite texts of deleted rows; whether there may be more to do."""
        if merge_result := self._merge(self._views.kinds):
            self._merges.publish(merge_result, self._publish_now)
            return True
        erasable = self._views.erasable()
        # All readers see the newest version where the log can be emptied: nobody reads texts of deleted rows.
        if erasable and self._database.checkpoint(force=True):
            with failing_disk(self.path):
                for item, dead in erasable:
                    fresh = dead if item.erased is None else dead & ~item.erased
                    if erasing.erase(self._views.folder, item.opened, np.flatnonzero(fresh)):
                        item.erased = dead
        self._checkpoint()
        return False

    def _merge(self, names: Iterable[str], *, whole: bool = False) -> merging.Merged | None:
        """Merge what the plan says, or all of it, of the first of these legs that has something to merge."""
        with self._connection() as connection:
            views_of_version, _ = self._views.newest(connection)
            entries = manifest.entries(connection)
            for name in names:
                views = {view.name: view for view in views_of_version.views.get(name, ())}
                runs = merging.runs(connection, entries, views)
                inputs = next(filter(None, [merging.choose(run, views, whole=whole) for run in runs]), ())
                if inputs:
                    break
            else:
                return None
            try:  # mappings of their own: a merge lets go of what it has read, which queries need
                copies = [manifest.open_segment(connection, self._views.folder, entry) for entry in inputs]
            except SegmentMissingError:  # another process has merged it
                return None
            chosen_views = [
                replace(views[copy.name], tie_ranks=copy.tie_ranks, arrays=copy.arrays) for copy in copies
            ]
            is_ranked = name in self._views.legs
            ties = ranks_of(connection, merging.live_keys(chosen_views)) if is_ranked else None
        # A merge would give damaged bytes a checksum that fits them.
        damage = {copy.name: wrong for copy in copies if (wrong := verify(copy))}
        for segment, wrong in damage.items():
            logger.warning("%s; `sleuth doctor --repair` makes it anew", wrong)
            self._views.note(segment, wrong)
        if damage:
            return self._merge(names, whole=whole)  # without its views
        return merging.merge(self._views.kinds[name], inputs, chosen_views, self._views.folder, ties)

    def _publish_now(self) -> None:
        """Publish finished merges, unless somebody else writes: then they will, or it is tried again."""
        if not self._database.is_being_written:  # else the commit of this process publishes them
            with suppress(IndexLockedError), self._writing(0.05, sweep=False) as writer:
                writer.commit()

    def _checkpoint(self, *, force: bool = False) -> None:
        """Copy the log into the record: where it is long, or holds text that was deleted."""
        deleted = self._merges.deleted
        if self._database.checkpoint(force=force or deleted) and deleted:
            self._merges.deleted = False

    # --- reading

    def reader(self) -> AbstractContextManager[IndexSnapshot]:
        """Provide the newest committed version, unchanging for the length of a block. Never waits for a writer."""
        return _Reading(self)

    @property
    def version(self) -> int:
        """The newest committed version."""
        _, version, _ = self.stamp
        return version

    @property
    def stamp(self) -> tuple[int, int, int]:
        """Generation and number of the newest commit, and noted losses: another one whenever an answer may differ."""
        with self._connection() as connection:
            generation, version = connection.execute("SELECT generation, version FROM state").fetchone()
            return generation, version, self._views.losses

    # --- health

    def status(self) -> Status:
        """Counts, sizes, versions, per leg; costs milliseconds."""
        from sleuth.store.health import checking

        with self._connection() as connection:
            connection.execute("BEGIN")
            return checking.status(connection, self._database, self._views, self.settings, self._lost)

    def check(self, *, full: bool = False) -> list[Finding]:
        """Prove that every chunk is covered exactly once by every leg and that files are as they were written.

        Args:
            full: read every byte: checksums of all segments and rows, SQLite's integrity check.

        Returns:
            Findings, the worst first; only "ok" ones for a healthy index.
        """
        from sleuth.store.health.checking import DocumentChecks
        from sleuth.store.health.checks import check

        return check(DocumentChecks(self._database, self._views), full=full)

    def repair(self) -> list[Repair]:
        """Check fully, and mend what can be mended: segments from the record, then the record itself.

        Documents of which the record has lost a part are removed, and named, so that adding them again restores them.

        Raises:
            IndexDamagedError: the structure of the record is damaged.
        """
        from sleuth.store.health import checking

        with self._writing() as writer:
            repairs = [Repair("record", f"{self._lost}; taken as it is")] if self._lost else []
            repairs += checking.repair(self._database, writer, self._views)
            with self._connection() as connection:
                repairs += mending.mend(connection, writer, self._views)
        self._lost = ""
        return repairs

    # --- closing

    def close(self, *, finish: bool = True) -> None:
        """Close everything. Closing twice is fine.

        Args:
            finish: do the merges first that commits of this process have made due: a large load leaves many. Else a
                merge that runs is finished, and others are left to a later commit.
        """
        try:
            if finish:
                self._merges.finish()
        finally:
            self._merges.stop()
            self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close(finish=exc[0] is None)

    def _after_fork(self) -> None:
        self._views.after_fork()
        self._merges.after_fork()


class _Reading:
    """A snapshot for the length of a block. A class, since a generator would cost as much as the rest of it."""

    __slots__ = ("_connection", "_store")

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> IndexSnapshot:
        store = self._store
        self._connection = connection = store._database.reader()
        try:
            views, version = store._views.newest(connection)
            return IndexSnapshot(connection, version, views)
        except BaseException as error:
            store._database.readers.discard(connection)
            if isinstance(error, sqlite3.Error):
                raise record.translate(error, store.path) from error
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the connection back; after an SQLite error drop it instead, and raise the error as a StoreError."""
        store, connection = self._store, self._connection
        if isinstance(error, sqlite3.Error):
            store._database.readers.discard(connection)
            raise record.translate(error, store.path) from error
        store._database.readers.release(connection)


@contextmanager
def readers(stores: Sequence[Store]) -> Iterator[list[IndexSnapshot]]:
    """Provide the newest committed version of each store; see `Store.reader`."""
    with ExitStack() as stack:
        yield [stack.enter_context(_Reading(store)) for store in stores]
