"""Keeps repositories, snapshots and what was found in their files.

One SQLite database (`code.db`) and a folder of segments in the index folder. Contents are kept once per blob, what
parsing found once per file version (a path with a content), and a snapshot is a list of file versions: branches
share everything but what differs. A row of a leg is a file version or a chunk of one; a snapshot is a set of live rows.

A run commits file versions in batches, then the snapshot: a killed run leaves no snapshot, and its work is reused.
"""

from __future__ import annotations

import threading
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.repository.git import origin_of
from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.lookup import repository_named, snapshot_named
from sleuth.code.snapshots.memory import Memory
from sleuth.code.snapshots.record import CODE_SCHEMA, FileRow, Repository, SnapshotInfo
from sleuth.code.snapshots.shelf import Batch, Shelf, WordLeg, Words, ranges
from sleuth.code.snapshots.snapshot import Snapshot
from sleuth.errors import CodeError, StoreError
from sleuth.protocols import Closing
from sleuth.store.catalogue import schema
from sleuth.store.catalogue.database import Database
from sleuth.store.catalogue.manifest import Built
from sleuth.store.record import mark
from sleuth.store.record.layout import Connection, select_in, translated

if TYPE_CHECKING:
    from sleuth.code.parsing.analyse import Analysed, KeptAnalyser
    from sleuth.code.repository.sources import Checkout

_LOST = "snapshots that were indexed last are lost: `sleuth code index` indexes them again"
_NEWEST = "serial = (SELECT max(serial) + 1 FROM snapshots)"  # clocks go back, and a serial does not
_OPEN = 4
"""Snapshots that stay open."""


class CodeStorage(Closing):
    """The embedded storage of code. Safe to share between threads; several processes may read while one writes.

    Attributes:
        path: the index folder.
        embed: makes the vectors of a run of `index_path`; None makes none.
        writable: whether this process may write; readers of a read-only folder may not.
        lost: what the database had lost when it was opened; "" for nothing.
    """

    def __init__(
        self, path: str | Path, words: Words, *, create: bool = True, embed: Callable[..., None] | None = None
    ) -> None:
        """Open the code index in folder `path`.

        Args:
            words: the legs that search words.
            create: make a missing one.
            embed: called with this storage, a report and `embedder`; see `embed_code`.

        Raises:
            IndexNotFoundError: none there, and `create` is False.
            FormatVersionError: written by another version.
            IndexDamagedError: the database does not open, or is of another index.
            IndexUnsafeError: a part of the index is a link or belongs to somebody else.
        """
        self.path = schema.folder_at(path)
        access = record.access_to(self.path, create=create)
        self.words = words
        self.embed = embed
        self.writable = access.writable
        names = CODE_SCHEMA.names
        self.database = Database(self.path, names, writable=access.writable, immutable=access.immutable)
        self._guard = threading.Lock()
        self._snapshots: dict[tuple[str, str, tuple[str, ...]], Snapshot] = {}
        self.shelf = Shelf(self.database, words)
        self.memory = Memory()
        self._run: tuple[int, Connection] | None = None
        note = state = mark.read(self.path, names)
        with suppress(StoreError):  # the first read reports damage
            state = self._state()
        mark.refuse_other(self.path, state.salt, note, names)
        self.lost = _LOST if (note.version or 0) > (state.version or 0) else ""

    # connections

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for a few statements; a run reads its own changes.

        Raises:
            StoreError: the database is damaged, or cannot be read now.
        """
        if (writer := self._writer()) is not None:
            with translated(self.path):
                yield writer
        else:
            with self.database.connection() as connection:
                yield connection

    def _writer(self) -> Connection | None:
        """Return the connection of this thread's run."""
        thread, connection = self._run or (0, None)
        return connection if thread == threading.get_ident() else None

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Connection]:
        """Commit all or nothing; nested, it is part of the outer transaction.

        Args:
            durable: whether to wait until the disk has it; a note that may be lost with the power need not.
        """
        writer = self._writer()
        if writer is None:
            with self.database.connection(write=True) as connection, self._committed(connection, durable):
                yield connection
        elif writer.in_transaction:
            yield writer
        else:
            with translated(self.path), self._committed(writer, durable):
                yield writer
            with translated(self.path):
                self.database.checkpoint(writer=writer)

    @contextmanager
    def _committed(self, connection: Connection, durable: bool) -> Iterator[None]:
        if not durable:
            connection.execute("PRAGMA synchronous = NORMAL")
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                self.memory.forget()
                if connection.in_transaction:  # after a failed write SQLite may have rolled back by itself
                    connection.execute("ROLLBACK")
                raise
        finally:
            if not durable:
                connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def publishing(self, *, durable: bool = True) -> Iterator[tuple[Connection, list[Built]]]:
        """`transaction` with segments: the block adds what it builds to the list, and after an error no file stays."""
        segments: list[Built] = []
        try:
            with self.transaction(durable=durable) as connection:
                try:
                    yield connection, segments
                except BaseException:
                    for segment in segments:
                        segment.discard()
                    raise
        finally:
            for segment in segments:
                segment.release()

    @contextmanager
    def writing(self, timeout: float = 10.0) -> Iterator[None]:
        """Hold the right to index, over all processes.

        Raises:
            IndexLockedError: another run holds it; names it.
            StoreError: this process may not write here.
        """
        with self.database.locked(timeout, sweep=True) as connection:
            self._run = threading.get_ident(), connection
            try:
                # Only the holder of the lock indexes: a snapshot that is still `indexing` was killed.
                with self.reading() as reader:
                    begun = "SELECT repository, id FROM snapshots WHERE status = 'indexing'"
                    killed = reader.execute(begun).fetchall()
                for repository, id in killed:
                    self.fail(repository, id, "the run was killed")
                yield
            finally:
                self._run = None

    def close(self) -> None:
        """Close the database. Closing twice is fine."""
        if "analyser" in vars(self):
            self.analyser.close()
        with self._guard:
            self._snapshots.clear()
        if self.writable:
            with suppress(StoreError):  # a log that cannot be copied now is copied later
                self.database.checkpoint()
        self.database.close()

    @cached_property
    def analyser(self) -> KeptAnalyser:
        """Takes few files apart; its process ends when this is closed."""
        from sleuth.code.parsing.analyse import KeptAnalyser  # searches do without it

        return KeptAnalyser()

    # repositories and snapshots

    def repositories(self) -> list[Repository]:
        """Return all repositories, in order of path."""
        with self.reading() as connection:
            rows = connection.execute("SELECT id, path, url FROM repositories ORDER BY path").fetchall()
        return [Repository(*row) for row in rows]

    def repository(self, name: str | uuid.UUID) -> Repository:
        """Return the repository of that id, path or URL.

        Raises:
            ArgumentError, UnknownRepositoryError: as `repository_named`.
        """
        return repository_named(name, self.repositories(), str(self.path))

    def repository_at(self, path: str) -> Repository | None:
        """Return the repository at that path; None for an unknown one."""
        return next((repository for repository in self.repositories() if repository.path == path), None)

    def repository_of(self, source: Checkout) -> Repository:
        """Return the repository of a source, adding it where it is unknown."""
        path = str(source.root)
        return self.repository_at(path) or self.add_repository(path, origin_of(source.root))

    def add_repository(self, path: str, url: str) -> Repository:
        """Return a new repository at a path, with the URL of its origin or ""."""
        repository = Repository(str(uuid.uuid4()), path, url)
        with self.transaction() as connection:
            row = (repository.id, path, url, time.time())
            connection.execute("INSERT INTO repositories VALUES (?, ?, ?, ?)", row)
        self.note()
        return repository

    def snapshots(self, repository: str) -> list[SnapshotInfo]:
        """Return all snapshots of a repository, newest first."""
        query = f"SELECT {record.SNAPSHOT_COLUMNS} FROM snapshots WHERE repository = ? ORDER BY serial DESC"
        with self.reading() as connection:
            rows = connection.execute(query, (repository,)).fetchall()
        return [
            SnapshotInfo(id, of, base, tuple(names.split()), *facts) for id, of, base, names, *facts in rows
        ]

    def snapshot(self, repository: Repository, name: str | None = None) -> SnapshotInfo:
        """Return the completed snapshot of that id, beginning of an id, branch or tag; the newest one for None.

        Raises:
            ArgumentError, UnknownSnapshotError: as `snapshot_named`.
        """
        return snapshot_named(name, repository, self.snapshots(repository.id))

    def begin(self, repository: str, id: str, base: str, names: Sequence[str]) -> None:
        """Record that a snapshot is being indexed. A completed one stays complete until `complete`."""
        with self.transaction(durable=False) as connection:
            connection.execute(
                "INSERT INTO snapshots(id, repository, base, names, status, started, finished, files, members, error, "
                "checksum) VALUES (?, ?, ?, ?, 'indexing', ?, NULL, 0, x'', '', 0) ON CONFLICT(repository, id) DO "
                "UPDATE SET status = 'indexing', started = excluded.started, error = '' WHERE status != 'completed'",
                (id, repository, base, " ".join(names), time.time()),
            )

    def complete(self, repository: str, id: str, names: Sequence[str], members: NDArray[np.int64]) -> None:
        """Mark a snapshot as complete and the newest; its branches and tags name no other one from now on."""
        packed = zlib.compress(np.sort(members).astype("<i8").tobytes(), 1)
        checksum = record.checksum_of((repository, id), packed)
        with self.transaction() as connection:
            connection.execute(
                "UPDATE snapshots SET status = 'completed', finished = ?, files = ?, members = ?, checksum = ?, "
                f"names = ?, error = '', {_NEWEST} WHERE repository = ? AND id = ?",
                (time.time(), len(members), packed, checksum, " ".join(names), repository, id),
            )
            named = "SELECT id, names FROM snapshots WHERE repository = ? AND id != ? AND names != ''"
            remaining = [
                (" ".join(name for name in other_names.split() if name not in names), repository, other_id)
                for other_id, other_names in connection.execute(named, (repository, id))
            ]
            statement = "UPDATE snapshots SET names = ? WHERE repository = ? AND id = ?"
            connection.executemany(statement, remaining)

    def make_newest(self, repository: str, id: str) -> None:
        """Mark a completed snapshot as the newest."""
        statement = f"UPDATE snapshots SET {_NEWEST} WHERE repository = ? AND id = ?"
        with self.transaction() as connection:
            connection.execute(statement, (repository, id))

    def note(self) -> None:
        """Note beside the database what it holds, once that was committed."""
        state = self._state()
        mark.write(self.path, state.version or 0, state.salt, CODE_SCHEMA.names)
        self.lost = ""

    def _state(self) -> mark.Mark:
        """Return what is noted of the database: its newest completed snapshot, and which index it is of."""
        with self.reading() as connection:
            newest = "SELECT coalesce(max(serial), 0) FROM snapshots WHERE status = 'completed'"
            (version,) = connection.execute(newest).fetchone()
            first_row = connection.execute("SELECT id FROM repositories ORDER BY rowid LIMIT 1").fetchone()
        return mark.Mark(version, zlib.crc32(first_row[0].encode()) if first_row else None)

    def skipped(self, repository: str, keys: Iterable[int]) -> list[tuple[str, str]]:
        """Return paths and reasons of the file versions that are not searched, in order of path."""
        with self.reading() as connection:
            query = "SELECT key, path, skip FROM files WHERE repository = ? AND skip != '' ORDER BY path"
            rows = connection.execute(query, (repository,)).fetchall()
        members = set(keys) if rows else ()
        return [(path, skip) for key, path, skip in rows if key in members]

    def fail(self, repository: str, id: str, error: str) -> None:
        """Record that a run failed. Where that is impossible, as on a full disk, the next run records it."""
        with suppress(StoreError), self.transaction() as connection:
            connection.execute(
                "UPDATE snapshots SET status = 'failed', error = ? "
                "WHERE repository = ? AND id = ? AND status = 'indexing'",
                (error, repository, id),
            )

    def open_snapshot(
        self, repository: Repository, info: SnapshotInfo, *, folders: tuple[str, ...] = ("",)
    ) -> Snapshot:
        """Open a snapshot for reading; the last few stay open.

        Args:
            folders: the files below these are there, and no others; by default all.

        Raises:
            IndexDamagedError: a part of it is not as it was written.
        """
        self.shelf.check_files()
        key = (repository.id, info.id, folders)
        with self._guard:
            snapshot = self._snapshots.pop(key, None)
        # Another process may have pruned it and begun anew.
        if snapshot is None or snapshot.info.started != info.started:
            snapshot = Snapshot(self, repository, info, folders)
        snapshot.info = info  # its names may be others
        with self._guard:
            self._snapshots[key] = snapshot
            while len(self._snapshots) > _OPEN:
                self._snapshots.pop(next(iter(self._snapshots)))
        return snapshot

    # file versions

    def members(self, repository: str, id: str) -> NDArray[np.int64]:
        """Keys of a completed snapshot's file versions, ascending; a CodeError says that it is gone."""
        query = "SELECT members FROM snapshots WHERE repository = ? AND id = ? AND status = 'completed'"
        with self.reading() as connection:
            row = connection.execute(query, (repository, id)).fetchone()
        if row is None:
            raise CodeError(f"snapshot {id} is gone: it was pruned while it was read")
        return record.read_members(row[0], id)

    def known_files(self, repository: str) -> Mapping[tuple[str, str], int]:
        """Keys of the file versions that are here, by path and hash."""
        writer = self._writer()
        if writer is not None:
            return self.memory.known(writer, repository)
        with self.database.connection(write=self.writable) as connection:  # it tells what others changed
            return self.memory.known(connection, repository)

    def file_rows(self, keys: NDArray[np.int64]) -> list[FileRow]:
        """File versions by key, in order of key.

        Raises:
            IndexDamagedError: one is not there.
        """
        if not len(keys):
            return []
        members = set(keys.tolist())
        with self.reading() as connection:
            if len(members) < 500:
                rows = sorted(select_in(connection, record.FILE_COLUMNS, "files", "key", sorted(members)))
            else:
                rows = connection.execute(
                    f"SELECT {record.FILE_COLUMNS} FROM files WHERE key BETWEEN ? AND ? ORDER BY key",
                    (int(keys[0]), int(keys[-1])),
                ).fetchall()
            files = [FileRow._make(row) for row in rows if row[0] in members]
            record.check_files(connection, files)
        if len(files) < len(members):
            raise record.damaged(f"a list of files, of which {len(members) - len(files)} are missing,")
        return files

    def detail(self, key: int) -> bytes:
        """Return the packed results of parsing a file version.

        Raises:
            CodeError: it is gone.
            IndexDamagedError: it is not as it was written.
        """
        with self.reading() as connection:
            row = connection.execute(
                f"SELECT {record.FILE_COLUMNS}, repository, checksum, detail FROM files WHERE key = ?", (key,)
            ).fetchone()
        if row is None:
            raise CodeError(f"file version {key} is gone: its snapshot was pruned while it was read")
        *columns, repository, checksum, detail = row
        return record.checked_detail(FileRow._make(columns), repository, checksum, detail)

    def content(self, hash: str) -> bytes:
        """Return a file's text as UTF-8.

        Raises:
            IndexDamagedError: it is not as it was written, or not there.
        """
        with self.reading() as connection:
            row = connection.execute(record.CONTENT_BY_NUMBER, (hash,)).fetchone()
        row_hash, content = row or (None, b"")
        if row_hash != hash:
            raise record.damaged(f"the content {hash}")
        return record.unpacked(content, f"the content {hash}")

    def add_contents(self, files: Sequence[tuple[str, Analysed]]) -> None:
        """Keep contents ahead of their file versions, while others are parsed; without those they mean nothing."""
        with self.transaction(durable=False) as connection:
            record.insert_contents(connection, files)

    def add_files(self, repository: str, batch: Batch) -> list[int]:
        """Keep file versions with a segment per leg; their keys, in order."""
        if not batch.files:
            return []
        with self.publishing() as (connection, segments):
            key, chunk = record.next_keys(connection)
            segments.extend(self.shelf.build_batch(batch, key, chunk))
            self.shelf.publish(connection, segments)
            record.insert_files(connection, repository, batch.files, key, chunk)
            record.insert_contents(connection, batch.files)
            self.memory.learn(connection, repository, [(f.path, hash) for hash, f in batch.files], key)
        return list(range(key, key + len(batch.files)))

    # vectors

    def vectors(self, fingerprint: str, keys: Sequence[int]) -> dict[int, NDArray[np.float16]]:
        """Embeddings of the chunks of those file versions that have them; each of shape (chunks, dimension).

        Those that are not as they were written are left out: they are made again.
        """
        with self.reading() as connection:
            return record.vectors_of_files(connection, fingerprint, keys)

    def add_vectors(self, fingerprint: str, vectors: Mapping[int, NDArray[np.float16]]) -> None:
        """Keep embeddings of file versions, each of shape (chunks, dimension), where this process may write."""
        if not self.writable:
            return
        with self.transaction() as connection:
            record.insert_vectors(connection, fingerprint, vectors)

    # upkeep

    def prune(self, repository: str, keep: Sequence[str]) -> int:
        """Forget the snapshots of a repository that `keep` does not name, and what only they hold; how many went."""
        self.forget()
        with self.writing():
            mark.write(self.path, 0, self._state().salt, CODE_SCHEMA.names)
            with self.transaction() as connection:
                rows = connection.execute("SELECT id FROM snapshots WHERE repository = ?", (repository,))
                ids = [id for (id,) in rows if id not in set(keep)]
                statement = "DELETE FROM snapshots WHERE repository = ? AND id = ?"
                connection.executemany(statement, [(repository, id) for id in ids])
                record.forget_unlisted(connection, repository)
                commits.forget_unreached(connection, repository)
                self.memory.forget()
            self.note()
            self.merge(whole=True)
        self.database.checkpoint(force=True)
        return len(ids)

    def forget(self) -> None:
        """Reopen snapshots and segments: something was removed or repaired."""
        with self._guard:
            self._snapshots.clear()
        self.shelf.forget()
        self.memory.forget()

    def merge(self, *, whole: bool = False) -> None:
        """Merge the segments of a leg that has many, or all of them; for the run that writes."""
        for leg in self.words:
            while self.shelf.merge(leg, self.reading, self.transaction, self.live, whole=whole):
                pass

    def live(self, connection: Connection, leg: WordLeg) -> NDArray[np.int64]:
        """Keys of the rows of a leg that a file version has, or of commits, ascending."""
        if leg is self.words.commits:
            return commits.keys_of_commits(connection)
        keys, firsts, counts = record.read_ranges(connection)
        return keys if leg is self.words.files else ranges(firsts, counts)
