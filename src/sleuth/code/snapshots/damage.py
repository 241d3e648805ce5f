"""Finds the rows of a code database that are not as they were written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from sleuth.code.snapshots import commits, record
from sleuth.code.snapshots.record import FileRow
from sleuth.errors import IndexDamagedError
from sleuth.store import REBUILD, Connection, Connections, Rest, prove_pieces, prove_structure

AGAIN = "sleuth doctor --repair, then `sleuth code index` the snapshots that it names again"
EMBEDDINGS = "SELECT file, fingerprint, checksum, vectors FROM embeddings"
_LAST = 1 << 62
"""Above all keys."""


class Damage(NamedTuple):
    """What the database has lost.

    Attributes:
        files: (key, path) of file versions that are not as they were written, or without their content.
        snapshots: (repository, id) of completed snapshots whose list of files is not, or that list a file version that
            is damaged or missing.
        contents: hashes of contents that are not.
        embeddings: how many cached vectors are not.
        commits: keys of those that are not.
        histories: repositories whose list of commits is not.
    """

    files: dict[int, str]
    snapshots: list[tuple[str, str]]
    contents: list[str]
    embeddings: int
    commits: list[int]
    histories: list[str]


def find_damage(connection: Connection) -> Damage:
    """Read every row.

    Raises:
        sqlite3.Error: the structure of the database is damaged.
    """
    contents = {
        hash: _is_packed(content) for hash, content in connection.execute("SELECT hash, content FROM blobs")
    }
    files = dict(_bad_files(connection, contents))
    embeddings = sum(map(is_bad_embedding, connection.execute(EMBEDDINGS)))
    bad = [hash for hash, whole in contents.items() if not whole]
    history = commits.bad_commits(connection), commits.bad_histories(connection)
    return Damage(files, broken_snapshots(connection, files), bad, embeddings, *history)


def broken_snapshots(
    connection: Connection, lost: Collection[int], first: int = 0, end: int = _LAST
) -> list[tuple[str, str]]:
    """Completed snapshots, by repository and id, that are damaged or list a file version that is lost."""
    listed = {key for (key,) in connection.execute("SELECT key FROM files")}.difference(lost)
    rows = connection.execute(
        "SELECT repository, id, checksum, members FROM snapshots WHERE status = 'completed' "
        "AND serial >= ? AND serial < ? ORDER BY serial",
        (first, end),
    )
    return [
        (repository, id)
        for repository, id, checksum, members in rows
        if not _is_whole(repository, id, checksum, members, listed)
    ]


def _bad_files(
    connection: Connection, contents: Mapping[str, bool], first: int = 0, end: int = _LAST
) -> Iterator[tuple[int, str]]:
    """Keys and paths of file versions, given by hash whether a content is as it was written."""
    rows = connection.execute(
        f"SELECT {record.FILE_COLUMNS}, repository, checksum, detail, encoding != '' FROM files "
        "WHERE key >= ? AND key < ?",
        (first, end),
    )
    for *columns, repository, checksum, detail, read in rows:
        row = FileRow._make(columns)
        try:
            record.checked_detail(row, repository, checksum, detail)
        except IndexDamagedError:
            yield row.key, str(row.path)
        else:
            if read and row.size and not row.skip and not contents.get(row.hash):
                yield row.key, row.path


def is_bad_embedding(row: tuple[int, str, int, bytes]) -> bool:
    """Return whether a row of `EMBEDDINGS` is not as it was written."""
    file, fingerprint, checksum, vectors = row
    try:
        return record.vectors_checksum(file, fingerprint, vectors) != checksum
    except TypeError:  # a value of another type than was written
        return True


def _is_packed(content: bytes) -> bool:
    try:
        record.unpacked(content, "")
    except IndexDamagedError:
        return False
    return True


def _is_whole(repository: str, id: str, checksum: int, members: bytes, listed: set[int]) -> bool:
    try:
        if record.members_checksum(repository, id, members) != checksum:
            return False
        return listed.issuperset(record.read_members(members, id).tolist())
    except (IndexDamagedError, TypeError, ValueError):
        return False


def prove(connections: Connections, rest: Rest) -> str:
    """Look at the structure of a code database and at all rows, some at a time; return the first damage.

    Args:
        rest: no connection is held while it waits.
    """
    return (
        prove_structure(connections, rest)
        or prove_pieces(connections, "blobs", _damaged_contents, rest)
        or prove_pieces(connections, "files", _damaged_files, rest)
        or prove_pieces(connections, "embeddings", _damaged_embeddings, rest)
        or prove_pieces(connections, "snapshots", _damaged_snapshots, rest)
        or _prove_commits(connections, rest)
    )


def _prove_commits(connections: Connections, rest: Rest) -> str:
    with connections() as connection:
        if bad := commits.bad_histories(connection):
            return f"{len(bad)} lists of commits are not as they were written; `{AGAIN}`"
    return prove_pieces(connections, "commits", _damaged_commits, rest)


def _damaged_commits(connection: Connection, first: int, end: int) -> str:
    bad = commits.bad_commits(connection, first, end)
    return f"{len(bad)} commits are not as they were written; `{AGAIN}`" if bad else ""


def _damaged_contents(connection: Connection, first: int, end: int) -> str:
    rows = connection.execute("SELECT hash, content FROM blobs WHERE rowid >= ? AND rowid < ?", (first, end))
    bad = [hash for hash, content in rows if not _is_packed(content)]
    return f"{len(bad)} contents are not as they were written; `{AGAIN}`" if bad else ""


def _damaged_files(connection: Connection, first: int, end: int) -> str:
    of_files = "SELECT hash FROM files WHERE key >= ? AND key < ?"
    contents = dict.fromkeys(
        (
            hash
            for (hash,) in connection.execute(
                f"SELECT hash FROM blobs WHERE hash IN ({of_files})", (first, end)
            )
        ),
        True,
    )
    bad = dict(_bad_files(connection, contents, first, end))
    return (
        f"{len(bad)} files are not as they were written: {sorted(bad.values())[:5]}; `{AGAIN}`" if bad else ""
    )


def _damaged_embeddings(connection: Connection, first: int, end: int) -> str:
    rows = connection.execute(f"{EMBEDDINGS} WHERE rowid >= ? AND rowid < ?", (first, end))
    bad = sum(map(is_bad_embedding, rows))
    return f"{bad} cached vectors are not as they were written; `{REBUILD}` removes them" if bad else ""


def _damaged_snapshots(connection: Connection, first: int, end: int) -> str:
    bad = [id for _, id in broken_snapshots(connection, (), first, end)]
    return f"{len(bad)} snapshots have lost a part of themselves: {bad[:5]}; `{AGAIN}`" if bad else ""
