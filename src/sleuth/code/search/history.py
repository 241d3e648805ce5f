"""Searches the messages of the commits that led to a snapshot, and finds what to list the commits of.

Git is read when somebody asks: a snapshot names its commit, and only ancestors of that commit are searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sleuth.arguments import check_count
from sleuth.code.repository.history import Commit, commits_before, paths_touched
from sleuth.code.search.query import read_query
from sleuth.errors import ArgumentError
from sleuth.store import SegmentView

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import FileRow
    from sleuth.code.snapshots.snapshot import Snapshot
    from sleuth.code.snapshots.words import WordSearcher

MOST_COMMITS: Final = 20_000
"""The newest commits whose messages are searched: reading so many takes git half a second."""
_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?(?:@[0-9a-f]{12})?")


class CommitHit(NamedTuple):
    """A commit whose message answers a query.

    Attributes:
        score: BM25 of the message, higher is better.
        paths: that the commit touched.
    """

    commit: Commit
    score: float
    paths: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return self.commit._asdict() | {"score": self.score, "paths": list(self.paths)}


class Place(NamedTuple):
    """A file of a snapshot, and the first and last of some lines; None for the whole file."""

    file: FileRow
    lines: tuple[int, int] | None


class _Messages(NamedTuple):
    """Commits, newest first, and a searcher whose row n is the message of the n-th."""

    commits: list[Commit]
    searcher: WordSearcher


def search_history(snapshot: Snapshot, query: str, limit: int = 10, *, path: str = "") -> list[CommitHit]:
    """Return the ancestors of a snapshot's commit whose messages answer a query best; of equal ones the newer first.

    Args:
        path: only commits that touched something at or below this path; any where empty.

    Raises:
        ArgumentError: the snapshot is of a folder outside git, or `limit` is below 0.
        CodeError: git failed, as where the repository is gone.
    """
    check_count(limit, "limit")
    terms = read_query(query).terms
    messages = _read_messages(snapshot, path) if path else snapshot.shared(_read_messages)
    if not limit or not terms or not messages.commits:
        return []
    hits = messages.searcher.search({"context": terms}, limit)
    commits = [messages.commits[key] for key in hits.keys.tolist()]
    paths = paths_touched(Path(snapshot.repository.path), [commit.id for commit in commits])
    return [
        CommitHit(commit, score, paths[commit.id])
        for commit, score in zip(commits, hits.scores.tolist(), strict=True)
    ]


def base_of(snapshot: Snapshot) -> str:
    """Return the commit that a snapshot is of, or is based on.

    Raises:
        ArgumentError: it is of a folder outside git.
    """
    if not snapshot.info.base:
        raise ArgumentError(f"the snapshot must be of a git repository, got {snapshot.repository.path}")
    return snapshot.info.base


def _read_messages(snapshot: Snapshot, path: str = "") -> _Messages:
    commits = commits_before(Path(snapshot.repository.path), base_of(snapshot), most=MOST_COMMITS, path=path)
    leg = snapshot.storage.words.chunks
    builder = leg.builder()
    builder.add({"body": [commit.message for commit in commits]}, len(commits))
    data = builder.finish()
    name = f"messages of {snapshot.repository.id} before {snapshot.info.base} {path}"
    view = SegmentView(name, np.arange(len(commits)), None, None, data.arrays, data.meta)
    return _Messages(commits, leg.searcher([view]))


def places_named(snapshot: Snapshot, name: str) -> Iterator[Place]:
    """Yield what a name means, the likeliest first.

    Args:
        name: a path, a path with lines (`a.py:10-20`, also as in the id of a hit), or the name of a definition.
    """
    if name in snapshot.by_path:
        yield Place(snapshot.file(name), None)
    place = _PLACE.fullmatch(name)
    if place is not None and place["path"] in snapshot.by_path:
        first = int(place["first"])
        yield Place(snapshot.file(place["path"]), (first, int(place["last"] or first)))
    for definition in snapshot.definitions(name):
        yield Place(definition.file, (definition.symbol.line, definition.symbol.end))
