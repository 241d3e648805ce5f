"""The tables of a code database whose rows have checksums, and how damaged rows are removed.

The order of `TABLES` is that in which rows are removed: a lost content makes file versions damaged, and those make
snapshots damaged.
"""

from __future__ import annotations

from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.record import FileRow
from sleuth.errors import IndexDamagedError
from sleuth.store.health.checks import CheckedTable
from sleuth.store.record.layout import Connection

AGAIN = "sleuth doctor --repair, then `sleuth code index` the snapshots that it names again"


def _bad_contents(connection: Connection, first: int, end: int) -> dict[int, str]:
    """Return contents that cannot be unpacked, named by a file that has them."""
    rows = connection.execute(
        "SELECT rowid, hash, content FROM blobs WHERE rowid >= ? AND rowid < ?", (first, end)
    )
    bad = {row: hash for row, hash, content in rows if not _is_packed(content)}
    paths = dict(connection.execute("SELECT hash, path FROM files").fetchall()) if bad else {}
    return {row: str(paths.get(hash, hash)) for row, hash in bad.items()}


def _is_packed(content: bytes) -> bool:
    try:
        record.unpacked(content, "")
    except IndexDamagedError:
        return False
    return True


def _bad_files(connection: Connection, first: int, end: int) -> dict[int, str]:
    """Return file versions that are not as they were written, or without their content."""
    rows = connection.execute(
        f"SELECT {record.FILE_COLUMNS}, repository, checksum, detail, "
        "encoding = '' OR EXISTS (SELECT 1 FROM blobs WHERE blobs.hash = files.hash) FROM files "
        "WHERE key >= ? AND key < ?",
        (first, end),
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


def _bad_embeddings(connection: Connection, first: int, end: int) -> dict[int, str]:
    rows = connection.execute(
        "SELECT rowid, file, fingerprint, checksum, vectors FROM embeddings WHERE rowid >= ? AND rowid < ?",
        (first, end),
    )
    return {row: "" for row, *columns in rows if not _is_embedding(*columns)}


def _is_embedding(file: int, fingerprint: str, checksum: int, vectors: bytes) -> bool:
    try:
        return record.vectors_checksum(file, fingerprint, vectors) == checksum
    except TypeError:  # a value of another type than was written
        return False


def _bad_snapshots(connection: Connection, first: int, end: int) -> dict[int, str]:
    """Return completed snapshots whose list of files is damaged, or that list a file version that is gone."""
    keys = {key for (key,) in connection.execute("SELECT key FROM files")}
    rows = connection.execute(
        "SELECT serial, repository, id, checksum, members FROM snapshots WHERE status = 'completed' "
        "AND serial >= ? AND serial < ? ORDER BY serial",
        (first, end),
    )
    return {
        serial: id
        for serial, repository, id, checksum, members in rows
        if not _is_whole(repository, id, checksum, members, keys)
    }


def _is_whole(repository: str, id: str, checksum: int, members: bytes, keys: set[int]) -> bool:
    try:
        if record.members_checksum(repository, id, members) != checksum:
            return False
        return keys.issuperset(record.read_members(members, id).tolist())
    except (IndexDamagedError, TypeError, ValueError):
        return False


CONTENTS = CheckedTable("blobs", "contents", _bad_contents, AGAIN)
FILES = CheckedTable("files", "files", _bad_files, AGAIN)
EMBEDDINGS = CheckedTable("embeddings", "cached vectors", _bad_embeddings)
SNAPSHOTS = CheckedTable("snapshots", "snapshots", _bad_snapshots, AGAIN, "have lost a part of themselves")
COMMITS = CheckedTable("commits", "commits", commits.bad_commits, AGAIN)
HISTORIES = CheckedTable("histories", "lists of commits", commits.bad_histories, AGAIN)
TABLES = (CONTENTS, FILES, EMBEDDINGS, SNAPSHOTS, COMMITS, HISTORIES)
