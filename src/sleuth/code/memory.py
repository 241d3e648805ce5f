"""What do earlier runs know of a repository's files? Which versions are here, and when those on disk last changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

Pair = tuple[str, str]
"""Path and hash: a file version."""
Times = dict[str, tuple[int, int, str]]
"""Size, time of change in ns and hash, by path."""


class Memory:
    """Keys of file versions, kept between the runs of one process; a change by another is noticed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int], dict[Pair, int]]] = {}

    def known(self, connection: sqlite3.Connection, repository: str) -> Mapping[Pair, int]:
        """The key of every file version of a repository."""
        stamp = _stamp(connection, repository)
        kept = self._known.get(repository)
        if kept is None or kept[0] != stamp:
            rows = connection.execute("SELECT path, hash, key FROM files WHERE repository = ?", (repository,))
            kept = self._known[repository] = (stamp, {(path, hash): key for path, hash, key in rows})
        return kept[1]

    def learn(
        self, connection: sqlite3.Connection, repository: str, pairs: Sequence[Pair], first: int
    ) -> None:
        """File versions were added with the keys from `first` on."""
        kept = self._known.get(repository)
        if kept is not None:
            kept[1].update(zip(pairs, range(first, first + len(pairs)), strict=True))
            self._known[repository] = (_stamp(connection, repository), kept[1])

    def forget(self) -> None:
        """Something was undone or removed."""
        self._known.clear()


def _stamp(connection: sqlite3.Connection, repository: str) -> tuple[int, int]:
    """Changes whenever file versions come or go: keys are never given again."""
    most, count = connection.execute(
        "SELECT (SELECT coalesce(max(key), 0) FROM files), count(*) FROM files WHERE repository = ?",
        (repository,),
    ).fetchone()
    return most, count


def read_times(connection: sqlite3.Connection, repository: str) -> Times:
    """As the last listing of the worktree saw them."""
    rows = connection.execute(
        "SELECT path, size, changed, hash FROM times WHERE repository = ?", (repository,)
    )
    return {path: (size, changed, hash) for path, size, changed, hash in rows}


def keep_times(connection: sqlite3.Connection, repository: str, before: Times, seen: Times) -> None:
    """Remember what is not as it was before."""
    gone = [(repository, path) for path in before if path not in seen]
    new = [(repository, path, *facts) for path, facts in seen.items() if before.get(path) != facts]
    connection.executemany("DELETE FROM times WHERE repository = ? AND path = ?", gone)
    connection.executemany("INSERT OR REPLACE INTO times VALUES (?, ?, ?, ?, ?)", new)
