"""Remembers file versions between runs, and when the files on disk last changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from sleuth.code.repository.listing import FileTime, Pair, Recall, Times

_Stamp = tuple[sqlite3.Connection, int]
"""A connection and its `data_version`: another one whenever another connection has committed."""


class Memory:
    """Keys of file versions, kept between the runs of one process; a change by another is noticed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Stamp, dict[Pair, int]]] = {}
        self._recalls: dict[str, Recall] = {}

    def known(self, connection: sqlite3.Connection, repository: str) -> Mapping[Pair, int]:
        """Return the key of every file version of a repository."""
        stamp = _stamp(connection)
        known_at, key_by_pair = self._known.get(repository, (None, {}))
        if known_at != stamp:
            rows = connection.execute("SELECT path, hash, key FROM files WHERE repository = ?", (repository,))
            key_by_pair = {(path, hash): key for path, hash, key in rows}
            self._known[repository] = stamp, key_by_pair
        return key_by_pair

    def learn(
        self, connection: sqlite3.Connection, repository: str, pairs: Sequence[Pair], first: int
    ) -> None:
        """File versions were added with the keys from `first` on."""
        known_at, key_by_pair = self._known.get(repository, (None, {}))
        if known_at == _stamp(connection):
            key_by_pair.update(zip(pairs, range(first, first + len(pairs)), strict=True))

    def recall(self, repository: str) -> Recall:
        """Return what the last run saw of a repository."""
        return self._recalls.setdefault(repository, Recall())

    def forget(self) -> None:
        """Something was undone or removed."""
        self._known.clear()
        self._recalls.clear()


def _stamp(connection: sqlite3.Connection) -> _Stamp:
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return connection, version


def read_times(connection: sqlite3.Connection, repository: str) -> Times:
    """Return the times of files as the last listing of the worktree saw them."""
    query = "SELECT path, size, changed, hash FROM times WHERE repository = ?"
    return {path: FileTime(*facts) for path, *facts in connection.execute(query, (repository,))}


def keep_times(
    connection: sqlite3.Connection, repository: str, before: Mapping[str, FileTime], after: Times
) -> None:
    """Remember what is not as it was before."""
    old_rows = [(repository, path) for path in before if path not in after]
    new_rows = [(repository, path, *facts) for path, facts in after.items() if before.get(path) != facts]
    connection.executemany("DELETE FROM times WHERE repository = ? AND path = ?", old_rows)
    connection.executemany("INSERT OR REPLACE INTO times VALUES (?, ?, ?, ?, ?)", new_rows)
