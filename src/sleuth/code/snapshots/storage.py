"""Where are repositories, snapshots and what was found in their files kept?

One SQLite database (`code.db`) and a folder of segments in the index folder. Contents are kept once per blob, what
parsing found once per file version (a path with a content), and a snapshot is a list of file versions: branches
share everything but what differs. A row of a leg is a file version or a chunk of one; a snapshot is a set of live rows.

A run commits file versions in batches, then the snapshot: a killed run leaves no snapshot, and its work is reused.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.parsing.analyse import Analysed
from sleuth.code.search.words import Words
from sleuth.code.snapshots.lookup import repository_named, snapshot_named
from sleuth.code.snapshots.memory import Memory
from sleuth.code.snapshots.record import SCHEMA, FileRow, Repository, SnapshotInfo, matrix_of, snapshot_info
from sleuth.code.snapshots.shelf import Batch, Shelf
from sleuth.errors import (
    CodeError,
    FormatVersionError,
    IndexNotFoundError,
)
from sleuth.store.catalogue.lock import WriterLock
from sleuth.store.disk.files import CODE, check_database, check_parts, make_database, make_folder

if TYPE_CHECKING:
    from sleuth.code.snapshots.snapshot import Snapshot

FORMAT = 3
_BUSY_SECONDS = 30.0
_PARAMETERS = 500
_OPEN = 4
"""Snapshots that stay open."""
_FILE_COLUMNS = "key, path, hash, language, category, encoding, lines, size, skip, first_chunk, chunks"


class CodeStorage:
    """The embedded storage of code. Safe to share between threads; several processes may read while one writes."""

    def __init__(self, path: str | Path, words: Words, *, create: bool = True) -> None:
        """Open the code index in folder `path`.

        Args:
            words: the legs that search words.
            create: make it where there is none.

        Raises:
            IndexNotFoundError: none there, and `create` is False.
            FormatVersionError: written by another version.
        """
        self.path = Path(path)
        self.words = words
        self._folder = self.path / CODE.segments
        self._database = self.path / CODE.record
        check_parts(self.path)
        if not self._database.exists():
            if not create:
                raise IndexNotFoundError(
                    f"no code index in {self.path}; `sleuth code index PATH` makes one", path=str(self.path)
                )
            make_folder(self.path)
            make_database(self._database)
        make_folder(self._folder)
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        self.shelf = Shelf(self._folder, words)
        self.memory = Memory()
        self._lock = WriterLock(self.path / CODE.lock)
        self._prepare()

    # connections

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection."""
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            check_database(self._database)
            found = sqlite3.connect(
                self._database, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            found.execute("PRAGMA journal_mode=WAL")
            found.execute("PRAGMA synchronous=FULL")
            found.execute("PRAGMA foreign_keys=ON")
            self._local.connection = found
            with self._guard:
                self._connections.append(found)
        return found

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """All or nothing; inside another transaction, a part of it.

        Args:
            durable: whether to wait until the disk has it; a note that may be lost with the power need not.
        """
        connection = self.connection
        if connection.in_transaction:
            yield connection
            return
        if not durable:
            connection.execute("PRAGMA synchronous=NORMAL")
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                self.memory.forget()
                raise
            connection.execute("COMMIT")
        finally:
            if not durable:
                connection.execute("PRAGMA synchronous=FULL")

    @contextmanager
    def writing(self, timeout: float = 10.0) -> Iterator[None]:
        """The right to index, over all processes.

        Raises:
            IndexLockedError: another run holds it; names it.
        """
        self._lock.acquire(timeout)
        try:
            self._fail_abandoned()
            yield
        finally:
            self._lock.release()

    def close(self) -> None:
        """Let go of the database. Closing twice is fine."""
        with self._guard:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._snapshots.clear()
        self._local = threading.local()

    def __enter__(self) -> CodeStorage:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _prepare(self) -> None:
        with self.transaction() as connection:
            known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone()
            if known is None:
                for statement in SCHEMA.split(";"):
                    if statement.strip():
                        connection.execute(statement)
                connection.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))
            row = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
        if row is None or int(row[0]) != FORMAT:
            raise FormatVersionError(
                f"{self._database} has format {row and row[0]}, this version reads {FORMAT}; "
                "index again into a new folder",
                path=str(self.path),
            )

    # repositories and snapshots

    def repositories(self) -> list[Repository]:
        """All repositories, in order of path."""
        rows = self.connection.execute("SELECT id, path, url FROM repositories ORDER BY path").fetchall()
        return [Repository(*row) for row in rows]

    def repository(self, name: str) -> Repository:
        """The repository of that id, path or URL.

        Raises:
            ArgumentError, UnknownRepositoryError: as `repository_named`.
        """
        return repository_named(name, self.repositories(), str(self.path))

    def repository_at(self, path: str) -> Repository | None:
        """The repository at that path, where it is known."""
        row = self.connection.execute(
            "SELECT id, path, url FROM repositories WHERE path = ?", (path,)
        ).fetchone()
        return Repository(*row) if row else None

    def add_repository(self, path: str, url: str) -> Repository:
        """The repository at that path, made known where it is not."""
        if known := self.repository_at(path):
            return known
        made = Repository(str(uuid.uuid4()), path, url)
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO repositories VALUES (?, ?, ?, ?)", (made.id, path, made.url, time.time())
            )
        return made

    def snapshots(self, repository: str) -> list[SnapshotInfo]:
        """All snapshots of a repository, newest first."""
        rows = self.connection.execute(
            "SELECT id, repository, base, names, status, started, finished, files, error FROM snapshots "
            "WHERE repository = ? ORDER BY serial DESC",
            (repository,),
        ).fetchall()
        return [snapshot_info(row) for row in rows]

    def snapshot(self, repository: Repository, name: str | None = None) -> SnapshotInfo:
        """The completed snapshot of that id, beginning of an id, branch or tag; the newest one for None.

        Raises:
            ArgumentError, UnknownSnapshotError: as `snapshot_named`.
        """
        return snapshot_named(name, repository, self.snapshots(repository.id))

    def begin(self, repository: str, id: str, base: str, names: Sequence[str]) -> None:
        """A snapshot is being indexed. One that is completed stays so until `complete`."""
        holder = f"{os.uname().nodename} {os.getpid()}"
        with self.transaction(durable=False) as connection:
            connection.execute(
                "INSERT INTO snapshots(id, repository, base, names, status, started, finished, files, members, error, "
                "holder) VALUES (?, ?, ?, ?, 'indexing', ?, NULL, 0, x'', '', ?) ON CONFLICT(repository, id) DO UPDATE "
                "SET status = 'indexing', started = excluded.started, error = '', holder = excluded.holder "
                "WHERE status != 'completed'",
                (id, repository, base, " ".join(names), time.time(), holder),
            )

    def complete(self, repository: str, id: str, names: Sequence[str], members: NDArray[np.int64]) -> None:
        """The snapshot's file versions are all here: it answers from now on. Completing again makes it the newest."""
        packed = zlib.compress(np.sort(members).astype("<i8").tobytes(), 1)
        with self.transaction() as connection:
            connection.execute(
                "UPDATE snapshots SET status = 'completed', finished = ?, files = ?, members = ?, names = ?, "
                "serial = (SELECT max(serial) + 1 FROM snapshots) "  # clocks go back, and a serial does not
                "WHERE repository = ? AND id = ?",
                (time.time(), len(members), packed, " ".join(names), repository, id),
            )
            named = connection.execute(
                "SELECT id, names FROM snapshots WHERE repository = ? AND id != ? AND names != ''",
                (repository, id),
            ).fetchall()
            for other, held in named:  # a branch or a tag names one commit
                kept = " ".join(name for name in held.split() if name not in names)
                if kept != held:
                    connection.execute(
                        "UPDATE snapshots SET names = ? WHERE repository = ? AND id = ?",
                        (kept, repository, other),
                    )

    def skipped(self, repository: str, keys: Iterable[int]) -> list[tuple[str, str]]:
        """Paths and reasons of those of these file versions that are not searched, in order of path."""
        rows = self.connection.execute(
            "SELECT key, path, skip FROM files WHERE repository = ? AND skip != '' ORDER BY path",
            (repository,),
        ).fetchall()
        wanted = set(keys) if rows else ()
        return [(path, skip) for key, path, skip in rows if key in wanted]

    def fail(self, repository: str, id: str, error: str) -> None:
        """The run broke off."""
        with self.transaction() as connection:
            connection.execute(
                "UPDATE snapshots SET status = 'failed', error = ? "
                "WHERE repository = ? AND id = ? AND status = 'indexing'",
                (error, repository, id),
            )

    def _fail_abandoned(self) -> None:
        """Whoever holds the lock is the only one who indexes: what is still `indexing` was killed."""
        if self.connection.execute("SELECT 1 FROM snapshots WHERE status = 'indexing'").fetchone() is None:
            return
        with self.transaction(durable=False) as connection:
            connection.execute(
                "UPDATE snapshots SET status = 'failed', error = 'the run was killed' WHERE status = 'indexing'"
            )

    def open_snapshot(self, repository: Repository, info: SnapshotInfo) -> Snapshot:
        """What can be read at a snapshot; the last few that were asked for stay open."""
        from sleuth.code.snapshots.snapshot import Snapshot

        key = (repository.id, info.id)
        with self._guard:
            found = self._snapshots.pop(key, None)
        if found is None:
            found = Snapshot(self, repository, info)
        with self._guard:
            self._snapshots[key] = found
            while len(self._snapshots) > _OPEN:
                self._snapshots.pop(next(iter(self._snapshots)))
        return found

    # file versions

    def members(self, repository: str, id: str) -> NDArray[np.int64]:
        """Keys of a snapshot's file versions, ascending."""
        row = self.connection.execute(
            "SELECT members FROM snapshots WHERE repository = ? AND id = ?", (repository, id)
        ).fetchone()
        if row is None or not row[0]:
            return np.zeros(0, np.int64)
        return np.frombuffer(zlib.decompress(row[0]), "<i8")

    def known_files(self, repository: str) -> Mapping[tuple[str, str], int]:
        """Keys of the file versions that are here, by path and hash."""
        return self.memory.known(self.connection, repository)

    def file_rows(self, keys: NDArray[np.int64]) -> list[FileRow]:
        """File versions by key, in order of key."""
        if not len(keys):
            return []
        wanted = set(keys.tolist())
        if len(wanted) < 500:
            marks = ",".join("?" * len(wanted))
            rows = self.connection.execute(
                f"SELECT {_FILE_COLUMNS} FROM files WHERE key IN ({marks}) ORDER BY key", sorted(wanted)
            )
        else:
            rows = self.connection.execute(
                f"SELECT {_FILE_COLUMNS} FROM files WHERE key BETWEEN ? AND ? ORDER BY key",
                (int(keys[0]), int(keys[-1])),
            )
        return [FileRow._make(row) for row in rows.fetchall() if row[0] in wanted]

    def detail(self, key: int) -> bytes:
        """What parsing found in a file version, packed."""
        row = self.connection.execute("SELECT detail FROM files WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise CodeError(f"file version {key} is gone: its snapshot was pruned while it was read")
        return bytes(row[0])

    def content(self, hash: str) -> bytes:
        """A file's text as UTF-8."""
        row = self.connection.execute("SELECT content FROM blobs WHERE hash = ?", (hash,)).fetchone()
        return zlib.decompress(row[0]) if row is not None else b""

    def add_contents(self, files: Sequence[tuple[str, Analysed]]) -> None:
        """Keep contents ahead of their file versions, while others are parsed; without those they mean nothing."""
        with self.transaction(durable=False) as connection:
            self._insert_contents(connection, files)

    @staticmethod
    def _insert_contents(connection: sqlite3.Connection, files: Sequence[tuple[str, Analysed]]) -> None:
        kept = [(hash, file.content) for hash, file in files if file.content]
        connection.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", kept)
        for _, file in files:
            file.content = b""

    def add_files(self, repository: str, batch: Batch) -> list[int]:
        """Keep file versions with a segment per leg; their keys, in order."""
        if not batch.files:
            return []
        with self.transaction() as connection:
            last = "SELECT key + 1, first_chunk + chunks FROM files ORDER BY key DESC LIMIT 1"  # both ascend
            key, chunk = connection.execute(last).fetchone() or (1, 1)
            high = connection.execute(
                "SELECT coalesce(max(CASE leg WHEN 'files' THEN last END), 0), "
                "coalesce(max(CASE leg WHEN 'chunks' THEN last END), 0) FROM segments"
            ).fetchone()
            key, chunk = max(key, high[0] + 1), max(chunk, high[1] + 1)
            held = self.shelf.write(connection, batch, key, chunk)
            try:
                self._insert(connection, repository, batch.files, key, chunk)
                self._insert_contents(connection, batch.files)
            except BaseException:
                for part in held:
                    part.discard()
                raise
            pairs = [(file.path, hash) for hash, file in batch.files]
            self.memory.learn(connection, repository, pairs, key)
        for part in held:
            part.release()
        return list(range(key, key + len(batch.files)))

    @staticmethod
    def _insert(
        connection: sqlite3.Connection,
        repository: str,
        files: Sequence[tuple[str, Analysed]],
        key: int,
        chunk: int,
    ) -> None:
        rows = []
        for hash, file in files:
            rows.append((key, repository, file.path, hash, file.language, file.category, file.encoding,
                         file.lines, file.size, file.skip, chunk, file.chunks, file.detail))  # fmt: skip
            key += 1
            chunk += file.chunks
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    # vectors

    def vectors(self, fingerprint: str, keys: Sequence[int]) -> dict[int, NDArray[np.float16]]:
        """Embeddings of the chunks of those file versions that have them; each of shape (chunks, dimension)."""
        found: dict[int, NDArray[np.float16]] = {}
        for start in range(0, len(keys), _PARAMETERS):
            some = list(keys[start : start + _PARAMETERS])
            marks = ",".join("?" * len(some))
            rows = self.connection.execute(
                f"SELECT file, vectors FROM embeddings WHERE file IN ({marks}) AND fingerprint = ?",
                (*some, fingerprint),
            )
            found.update((key, matrix_of(blob)) for key, blob in rows)
        return found

    def add_vectors(self, fingerprint: str, vectors: Mapping[int, NDArray[np.float16]]) -> None:
        """Keep embeddings of file versions, each of shape (chunks, dimension)."""
        with self.transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)",
                [
                    (key, fingerprint, np.int32(v.shape[1]).tobytes() + v.astype("<f2").tobytes())
                    for key, v in vectors.items()
                ],
            )

    # upkeep

    def prune(self, repository: str, keep: Sequence[str]) -> int:
        """Forget the snapshots of a repository that `keep` does not name, and what only they hold; how many went."""
        with self._guard:
            self._snapshots.clear()
        with self.writing():
            with self.transaction() as connection:
                rows = connection.execute(
                    "SELECT id FROM snapshots WHERE repository = ?", (repository,)
                ).fetchall()
                gone = [row[0] for row in rows if row[0] not in set(keep)]
                connection.executemany(
                    "DELETE FROM snapshots WHERE repository = ? AND id = ?", [(repository, id) for id in gone]
                )
                connection.execute("CREATE TEMP TABLE live(key INTEGER PRIMARY KEY)")
                connection.executemany(
                    "INSERT OR IGNORE INTO live VALUES (?)", ((key,) for key in self._all_members(connection))
                )
                connection.execute(
                    "DELETE FROM files WHERE repository = ? AND key NOT IN (SELECT key FROM live)",
                    (repository,),
                )
                connection.execute("DROP TABLE live")
                connection.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM files)")
                self.memory.forget()
            self.compact()
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(gone)

    def compact(self) -> None:
        """Merge each leg's segments into one, without the rows of file versions that are gone."""
        self.shelf.merge_all(self, everything=True)

    @staticmethod
    def _all_members(connection: sqlite3.Connection) -> set[int]:
        found: set[int] = set()
        for (packed,) in connection.execute("SELECT members FROM snapshots WHERE status = 'completed'"):
            if packed:
                found.update(np.frombuffer(zlib.decompress(packed), "<i8").tolist())
        return found
