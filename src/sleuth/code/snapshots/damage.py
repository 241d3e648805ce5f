"""An index of code as the checks of the store see it, and the tables whose rows have checksums.

The order of `TABLES` is that in which rows are removed: a lost content makes file versions damaged, and those make
snapshots damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.record import CODE_SCHEMA, FileRow
from sleuth.errors import IndexDamagedError
from sleuth.store import Finding
from sleuth.store.health.checks import CheckedTable, Checks, Live
from sleuth.store.record.layout import Connection

if TYPE_CHECKING:
    from sleuth.code.snapshots.storage import CodeStorage
    from sleuth.code.snapshots.words import WordLeg

AGAIN = "sleuth doctor --repair, then `sleuth code index` the snapshots that it names again"


def _bad_contents(connection: Connection) -> dict[int, str]:
    """Return contents that cannot be unpacked, named by a file that has them."""
    rows = connection.execute("SELECT rowid, hash, content FROM blobs")
    bad = {}
    for row, hash, content in rows:
        try:
            record.unpacked(content, "")
        except IndexDamagedError:
            bad[row] = hash
    paths = dict(connection.execute("SELECT hash, path FROM files").fetchall()) if bad else {}
    return {row: str(paths.get(hash, hash)) for row, hash in bad.items()}


def _bad_files(connection: Connection) -> dict[int, str]:
    """Return file versions that are not as they were written, or without their content."""
    rows = connection.execute(
        f"SELECT {record.FILE_COLUMNS}, repository, checksum, detail, "
        "encoding = '' OR EXISTS (SELECT 1 FROM blobs WHERE blobs.hash = files.hash) FROM files"
    )
    bad = {}
    for *columns, repository, checksum, detail, has_content in rows:
        row = FileRow._make(columns)
        try:
            record.checked_detail(row, repository, checksum, detail)
        except IndexDamagedError:
            bad[row.key] = str(row.path)
        else:
            if row.size and not row.skip and not has_content:
                bad[row.key] = row.path
    return bad


def _bad_embeddings(connection: Connection) -> dict[int, str]:
    rows = connection.execute("SELECT rowid, checksum, vectors, file, fingerprint FROM embeddings")
    return {row: "" for row, checksum, vectors, *of in rows if not record.is_sound(checksum, of, vectors)}


def _bad_snapshots(connection: Connection) -> dict[int, str]:
    """Return completed snapshots whose list of files is damaged, or that list a file version that is gone."""
    keys = {key for (key,) in connection.execute("SELECT key FROM files")}
    rows = connection.execute(
        "SELECT serial, repository, id, checksum, members FROM snapshots WHERE status = 'completed' "
        "ORDER BY serial"
    )
    bad = {}
    for serial, repository, id, checksum, members in rows:
        if record.is_sound(checksum, (repository, id), members):
            with suppress(IndexDamagedError):
                if keys.issuperset(record.read_members(members, id).tolist()):
                    continue
        bad[serial] = id
    return bad


CONTENTS = CheckedTable("blobs", "contents", _bad_contents, AGAIN)
FILES = CheckedTable("files", "files", _bad_files, AGAIN)
EMBEDDINGS = CheckedTable("embeddings", "cached vectors", _bad_embeddings)
SNAPSHOTS = CheckedTable("snapshots", "snapshots", _bad_snapshots, AGAIN, "have lost a part of themselves")
COMMITS = CheckedTable("commits", "commits", commits.bad_commits, AGAIN)
HISTORIES = CheckedTable("histories", "lists of commits", commits.bad_histories, AGAIN)
TABLES = (CONTENTS, FILES, EMBEDDINGS, SNAPSHOTS, COMMITS, HISTORIES)


class CodeChecks(Checks):
    """An index of code as the checks see it."""

    legs: dict[str, WordLeg]
    subject = CODE_SCHEMA.names.record
    again = AGAIN
    tables = TABLES
    prefix = "code "

    def __init__(self, storage: CodeStorage) -> None:
        """Look at an open storage."""
        words = storage.words
        self.database = storage.database
        self.legs = {leg.name: leg for leg in (words.files, words.chunks, words.commits)}
        self._storage = storage

    def losses(self, connection: Connection) -> Iterator[Finding]:
        """Yield snapshots that were noted beside the database and that it lacks."""
        if self._storage.lost:
            yield Finding("error", self.subject, self._storage.lost, AGAIN)

    def counts(self, connection: Connection) -> Iterator[Finding]:
        """Yield how much the database holds."""
        snapshots, files = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("snapshots", "files")
        )
        history = len(commits.keys_of_commits(connection))
        message = f"{snapshots} snapshots, {files} versions of files, {history} commits"
        yield Finding("ok", self.subject, message)

    def live(self, connection: Connection, leg: str, keys: NDArray[np.int64]) -> Live:
        """Return the rows of file versions, chunks or commits, and the pruned ones."""
        live_keys = self._storage.live(connection, self.legs[leg])
        return Live(live_keys, np.setdiff1d(keys, live_keys))
