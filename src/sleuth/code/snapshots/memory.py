"""What do earlier runs know of a repository's files? Which versions are here, and when those on disk last changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sleuth.code.repository.git import Index
    from sleuth.code.repository.sources import Listed

Pair = tuple[str, str]
"""Path and hash: a file version."""
Times = dict[str, tuple[int, int, str]]
"""Size, time of change in ns and hash, by path."""


@dataclass(slots=True)
class Recall:
    """What a run of this process saw of the files on disk or of a commit; the next one starts from there.

    Attributes:
        index: of git.
        known: the file versions that were known, which `trusted` and `unknown` are told by.
        trusted: tracked files whose content, as the index says, is known; in order.
        unknown: the other tracked files.
        head: the commit that was checked out; `touched` are names that may be other than there.
        files: the whole listing; None where there was none.
        keys: of file versions that were listed, as `keyed` has them.
        commit: the last one that was read from git, and not from disk; `committed` are its files.
    """

    index: Index | None = None
    known: Container[Pair] = ()
    trusted: list[Listed] = field(default_factory=list)
    unknown: set[bytes] = field(default_factory=set)
    head: str = ""
    touched: set[str] = field(default_factory=set)
    files: list[Listed] | None = None
    keyed: Mapping[Pair, int] | None = None
    keys: dict[Listed, int] = field(default_factory=dict)
    commit: str = ""
    committed: list[Listed] = field(default_factory=list)

    def keys_of(self, listed: Sequence[Listed], known: Mapping[Pair, int]) -> list[int | None]:
        """The key of each file version, None for those that are not known."""
        if self.keyed is not known:
            self.keyed, self.keys = known, {}
        found = list(map(self.keys.get, listed))
        for i in [i for i, key in enumerate(found) if key is None]:
            path, hash, skip = file = listed[i]
            key = found[i] = known.get((path, hash or f"skip {skip}"))
            if key is not None:
                self.keys[file] = key
        return found


class Memory:
    """Keys of file versions, kept between the runs of one process; a change by another is noticed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, dict[Pair, int]]] = {}
        self._recalls: dict[str, Recall] = {}

    def known(self, connection: sqlite3.Connection, repository: str) -> Mapping[Pair, int]:
        """The key of every file version of a repository."""
        stamp = _stamp(connection)
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
        if kept is not None and kept[0] == _stamp(connection):
            kept[1].update(zip(pairs, range(first, first + len(pairs)), strict=True))

    def recall(self, repository: str) -> Recall:
        """What the last run saw of a repository."""
        return self._recalls.setdefault(repository, Recall())

    def forget(self) -> None:
        """Something was undone or removed."""
        self._known.clear()
        self._recalls.clear()


def _stamp(connection: sqlite3.Connection) -> tuple[sqlite3.Connection, int]:
    """Changes whenever another connection commits."""
    return connection, connection.execute("PRAGMA data_version").fetchone()[0]


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
