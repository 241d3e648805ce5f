"""The rows of commits: what is recorded of a repository's history, and which of it led to a commit.

They are derived from git: a row that is lost or damaged is forgotten, and the next run reads it again.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sleuth.code.repository.commits import Commit, ReadCommit, is_commit_id
from sleuth.code.snapshots import record
from sleuth.errors import CodeError, IndexDamagedError
from sleuth.store.record.layout import Connection, select_in

_MOST_TIPS: Final = 32
"""Branches whose history is known to be whole; more are listed again."""
_MOST_DETAIL: Final = 1 << 28
"""Bytes of a commit's message and paths."""
_LAST: Final = 1 << 62


class _Row(NamedTuple):
    """A row of `commits`; ids are bytes, those of parents one after the other."""

    key: int
    repository: str
    id: bytes
    parents: bytes
    time: int
    checksum: int
    detail: bytes


_COLUMNS: Final = ", ".join(_Row._fields)


class Ancestors(NamedTuple):
    """The recorded commits that led to one, itself included.

    Attributes:
        keys: ascending, shape (n,).
        places: of each when they are in git's order, the newest first, shape (n,).
    """

    keys: NDArray[np.int64]
    places: NDArray[np.int64]


def keys_of_commits(connection: Connection) -> NDArray[np.int64]:
    """Return the keys of all commits, ascending.

    Raises:
        IndexDamagedError: no run gives such a key.
    """
    keys = np.array([key for (key,) in connection.execute("SELECT key FROM commits ORDER BY key")], np.int64)
    if len(keys) and not 0 <= keys[0] <= keys[-1] < _LAST:
        raise record.damaged("the list of commits")
    return keys


def next_commit(connection: Connection) -> int:
    """Return the first key of a commit that was never given."""
    last_key, covered = connection.execute(
        "SELECT coalesce((SELECT max(key) FROM commits), 0), "
        "coalesce((SELECT max(last) FROM segments WHERE leg = 'commits'), 0)"
    ).fetchone()
    return max(int(last_key), int(covered)) + 1


def insert_commits(connection: Connection, repository: str, commits: Sequence[ReadCommit], key: int) -> None:
    """Write commits from key `key` on."""
    rows = []
    for n, entry in enumerate(commits, key):
        commit = entry.commit
        texts = [commit.date, commit.author, commit.subject, commit.body, *entry.paths]
        detail = zlib.compress("\0".join(texts).encode("utf-8", "surrogatepass"), 1)
        id, parents = bytes.fromhex(commit.id), bytes.fromhex("".join(entry.parents))
        checksum = record.checksum_of((n, repository, entry.time), id, parents, detail)
        rows.append(_Row(n, repository, id, parents, entry.time, checksum, detail))
    connection.executemany(f"INSERT INTO commits({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def recorded_among(connection: Connection, repository: str, ids: Sequence[str]) -> set[str]:
    """Return those of these commits that are recorded."""
    digests = [bytes.fromhex(id) for id in ids]
    rows = select_in(connection, "id", "commits", "id", digests, also=("repository", repository))
    return {id.hex() for (id,) in rows if isinstance(id, bytes)}


def heads_among(connection: Connection, repository: str, ids: Sequence[str]) -> list[str]:
    """Return those of these commits that are not recorded as parents of others of them."""
    children = [bytes.fromhex(id) for id in ids]
    rows = select_in(connection, "parents", "commits", "id", children, also=("repository", repository))
    packed_parents = [parents for (parents,) in rows if isinstance(parents, bytes)]
    parents = {piece for packed_ids in packed_parents for piece in _ids(packed_ids, len(children[0]))}
    return [id for id, child in zip(ids, children, strict=True) if child not in parents]


def ancestors_of(connection: Connection, repository: str, tip: str) -> Ancestors:
    """Return the recorded commits that led to a commit.

    Raises:
        IndexDamagedError: a row holds values that no run writes.
    """
    query = "SELECT id, key, parents, time FROM commits WHERE repository = ?"
    rows = connection.execute(query, (repository,))
    commits = {id: (key, parents, time) for id, key, parents, time in rows}
    try:
        keys = np.array(list(_walk(commits, bytes.fromhex(tip))), np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise record.damaged(f"the list of commits ({error})") from error
    order = np.argsort(keys)
    return Ancestors(keys[order], order)


def _walk(commits: dict[bytes, tuple[int, bytes, int]], tip: bytes) -> Iterator[int]:
    """Yield the keys of the commits that led to one in git's order: the newest of those whose child was yielded.

    Args:
        commits: key, parents and time by id.
    """
    size = len(tip)
    visited: set[bytes] = set()
    waiting: list[tuple[int, int, int, bytes]] = []
    ids = [tip]
    while True:
        for id in ids:
            if id not in visited and id in commits:
                visited.add(id)
                key, parents, time = commits[id]
                heappush(waiting, (-time, len(visited), key, parents))
        if not waiting:
            return
        *_, key, parents = heappop(waiting)
        yield key
        ids = _ids(parents, size)


def _ids(packed: bytes, size: int) -> list[bytes]:
    """Return ids that stand one after the other."""
    return [packed[at : at + size] for at in range(0, len(packed), size)]


def read_details(connection: Connection, keys: Sequence[int]) -> dict[int, tuple[Commit, tuple[str, ...]]]:
    """Return commits by key, each with the paths that it touched.

    Raises:
        CodeError: one is gone.
        IndexDamagedError: one is not as it was written.
    """
    commit_by_key = {}
    for row in map(_Row._make, select_in(connection, _COLUMNS, "commits", "key", keys)):
        texts = _texts(row)
        if texts is None:
            raise record.damaged(f"commit {row.key}")
        date, author, subject, body, *paths = texts
        commit_by_key[row.key] = Commit(row.id.hex(), date, author, subject, body), tuple(paths)
    if len(commit_by_key) < len(keys):
        raise CodeError(
            "commits are gone: their history was pruned while it was read; open the snapshot again"
        )
    return commit_by_key


def _texts(row: _Row) -> list[str] | None:
    """Return what is kept of a commit; None where its row is not as it was written."""
    columns = (row.key, row.repository, row.time)
    if not record.is_sound(row.checksum, columns, row.id, row.parents, row.detail):
        return None
    try:
        texts = record.unpacked(row.detail, "a commit", _MOST_DETAIL)
        return texts.decode("utf-8", "surrogatepass").split("\0")
    except (TypeError, ValueError, IndexDamagedError):
        return None


def bad_commits(connection: Connection) -> dict[int, str]:
    """Return the keys of the commits that are not as they were written."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM commits")
    return {row.key: "" for row in map(_Row._make, rows) if _texts(row) is None}


class Tips(NamedTuple):
    """The commits whose history is whole, as far as it is recorded at all.

    Attributes:
        cut: of which clone: differs where a shallow one got other commits.
        ids: newest run first.
    """

    cut: str
    ids: tuple[str, ...]


def read_tips(connection: Connection, repository: str) -> Tips | None:
    """Return the tips of a repository; None where none were written, or not as they are now."""
    query = "SELECT repository, cut, tips, checksum FROM histories WHERE repository = ?"
    return next((_tips(*row) for row in connection.execute(query, (repository,))), None)


def _tips(repository: str, borders: str, tips: str, checksum: int) -> Tips | None:
    if not isinstance(tips, str) or not record.is_sound(checksum, (repository, borders, tips)):
        return None
    ids = tuple(tips.split())
    return Tips(borders, ids) if all(map(is_commit_id, ids)) else None


def write_tips(connection: Connection, repository: str, tips: Tips) -> None:
    """Keep the tips of a repository, the first ones of many."""
    ids = " ".join(tips.ids[:_MOST_TIPS])
    columns = (repository, tips.cut, ids)
    row = (*columns, record.checksum_of(columns))
    connection.execute("INSERT OR REPLACE INTO histories VALUES (?, ?, ?, ?)", row)


def bad_histories(connection: Connection) -> dict[int, str]:
    """Return the rows of tips that are not as they were written."""
    rows = connection.execute("SELECT rowid, repository, cut, tips, checksum FROM histories")
    return {row: "" for row, *columns in rows if _tips(*columns) is None}


def forget_commits(connection: Connection, keys: Collection[int]) -> None:
    """Remove commits, given by key, and the list of complete ones; the next run reads the missing ones again."""
    connection.executemany("DELETE FROM commits WHERE key = ?", ((key,) for key in keys))
    if keys:
        connection.execute("DELETE FROM histories")


def forget_history(connection: Connection, repository: str) -> None:
    """Remove all commits of a repository."""
    connection.execute("DELETE FROM commits WHERE repository = ?", (repository,))
    connection.execute("DELETE FROM histories WHERE repository = ?", (repository,))


def forget_unreached(connection: Connection, repository: str) -> None:
    """Remove the commits of a repository that led to no snapshot."""
    bases = "SELECT DISTINCT base FROM snapshots WHERE repository = ? AND base != ''"
    tips = [base for (base,) in connection.execute(bases, (repository,)) if is_commit_id(base)]
    reachable = set[int]().union(*(ancestors_of(connection, repository, tip).keys.tolist() for tip in tips))
    rows = connection.execute("SELECT key FROM commits WHERE repository = ?", (repository,)).fetchall()
    unreached = [(key,) for (key,) in rows if key not in reachable]
    if unreached:
        connection.executemany("DELETE FROM commits WHERE key = ?", unreached)
        if recorded_tips := read_tips(connection, repository):
            ids = tuple(id for id in recorded_tips.ids if id in tips)
            write_tips(connection, repository, recorded_tips._replace(ids=ids))
