"""Searches the commits that led to a snapshot.

A snapshot names its commit, and only ancestors of that commit are searched.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from sleuth.arguments import check_count, check_query
from sleuth.code.repository.commits import commits_of, diff_since, lines_before
from sleuth.code.repository.git import common_folder
from sleuth.code.repository.process import run
from sleuth.code.search.exact import places_named
from sleuth.code.search.query import read_query
from sleuth.code.snapshots.commits import Ancestors, ancestors_of, read_details
from sleuth.code.snapshots.places import is_below
from sleuth.code.snapshots.recording import is_recorded
from sleuth.errors import ArgumentError, CodeError
from sleuth.remote import async_twin
from sleuth.store import LegRequest

if TYPE_CHECKING:
    from sleuth.code.repository.commits import Commit
    from sleuth.code.snapshots.shelf import WordSearcher
    from sleuth.code.snapshots.snapshot import Snapshot
    from sleuth.store.record.layout import Connection

WEIGHTS: Final = {"message": 1.0, "paths": 0.5, "changes": 0.5}
"""What a word counts in the message of a commit, its paths, and the lines that it changed."""
_TOGETHER: Final = 200
"""Commits that are read at once where some are left out."""


class CommitHit(NamedTuple):
    """A commit that answers a query.

    Attributes:
        score: BM25 of its message, paths and changed lines, higher is better.
        paths: that the commit touched.
    """

    commit: Commit
    score: float
    paths: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return self.commit._asdict() | {"score": self.score, "paths": list(self.paths)}


def search_history(snapshot: Snapshot, query: str, limit: int = 10, *, path: str = "") -> list[CommitHit]:
    """Return the ancestors of a snapshot's commit that answer a query best; of equal ones the newer first.

    Messages, paths and changed lines are searched, as far as they are recorded: `refresh_history` records the rest.

    Args:
        path: only commits that touched something at or below this path; any where empty.

    Raises:
        ArgumentError: the snapshot is of a folder outside git, a query that is too long, or `limit` is below 0.
        CodeError: nothing of its history is recorded; says how to record it.
        IndexDamagedError: a part of the history is not as it was written.
    """
    check_count(limit, "limit")
    terms = read_query(check_query(query)).terms
    is_whole = is_recorded(snapshot.storage, snapshot.repository, base_of(snapshot))
    if is_whole:  # it stays as it is: all who ask share it
        ancestors, searcher = snapshot.shared(_read_commits)
    else:
        ancestors, searcher = _read_commits(snapshot)
    if not limit or not terms:
        return []
    weighted = {field: {term: n * weight for term, n in terms.items()} for field, weight in WEIGHTS.items()}
    hits = searcher.pool(weighted, LegRequest(len(ancestors.keys)))
    ages = ancestors.places[np.searchsorted(ancestors.keys, hits.keys)]  # 0 for the newest commit
    order = np.lexsort((ages, -hits.scores))
    score_by_key = dict(zip(hits.keys[order].tolist(), hits.scores[order].tolist(), strict=True))
    with snapshot.storage.reading() as connection:
        commits = _first(connection, list(score_by_key), limit, path.strip("/"))
    return [CommitHit(commit, score_by_key[key], paths) for key, (commit, paths) in commits.items()]


asearch_history = async_twin(search_history)


def _first(
    connection: Connection, keys: list[int], limit: int, path: str
) -> dict[int, tuple[Commit, tuple[str, ...]]]:
    """Return the first `limit` of these commits that touched something at or below a path, by key, with their paths."""
    commits: dict[int, tuple[Commit, tuple[str, ...]]] = {}
    together = max(limit, _TOGETHER) if path else limit
    for at in range(0, len(keys), together):
        batch = keys[at : at + together]
        details = read_details(connection, batch)
        for key in batch:
            commit, paths = details[key]
            if not path or any(is_below(touched, path) for touched in paths):
                commits[key] = commit, paths
        if len(commits) >= limit:
            break
    return dict(islice(commits.items(), limit))


def _read_commits(snapshot: Snapshot) -> tuple[Ancestors, WordSearcher]:
    """Return the commits that led to a snapshot, and a searcher over them; raises as `search_history`."""
    storage, repository = snapshot.storage, snapshot.repository
    leg = storage.words.commits
    with storage.reading() as connection:
        ancestors = ancestors_of(connection, repository.id, base_of(snapshot))
        if not len(ancestors.keys):
            raise CodeError(
                f"the history of {repository.path} must be recorded to be searched: "
                f"run `sleuth code index {quote(repository.path)}`"
            )
        views = storage.shelf.views(connection, leg, ancestors.keys)
    return ancestors, leg.searcher(views)


class PlaceHistory(NamedTuple):
    """The commits that touched a place, newest first.

    Attributes:
        path: of its file.
        lines: the first and last one; None for the whole file.
    """

    path: str
    lines: tuple[int, int] | None
    commits: list[Commit]


def history_of(names: Iterable[tuple[Snapshot, str]], *, text: str = "", most: int = 20) -> PlaceHistory:
    """Return the newest commits that touched the first thing that a name means.

    Args:
        names: snapshots with names of the form of `places_named`, to be tried in this order.
        text, most: as of `commits_of`.

    Raises:
        ArgumentError: nothing of these names, or a snapshot of a folder outside git.
        UnknownCommitError, CodeError: as of `commits_of`.
    """
    name = ""
    for snapshot, name in names:
        if (place := next(places_named(snapshot, name), None)) is not None:
            root, path, base = Path(snapshot.repository.path), place.file.path, base_of(snapshot)
            lines = place.lines
            if lines is not None and snapshot.info.id != base:  # git counts the lines of the commit
                # A diff leaves out files that git does not track.
                is_committed = run(root, "ls-tree", base, "--", path)
                lines = lines_before(diff_since(root, base, path), lines) if is_committed else None
                if lines is None:
                    return PlaceHistory(path, place.lines, [])
            commits = commits_of(root, path, revision=base, lines=lines, text=text, most=most)
            return PlaceHistory(path, place.lines, commits)
    raise ArgumentError(f"name must be a file or a definition of the snapshot, got {name!r}")


def base_of(snapshot: Snapshot) -> str:
    """Return the commit that a snapshot is of, or is based on.

    Raises:
        ArgumentError: it is of a folder outside git, or of a repository without commits.
    """
    if not (base := snapshot.info.base):
        root = snapshot.repository.path
        rule = "have a commit: run `git commit`" if common_folder(Path(root)) else "be of a git repository"
        raise ArgumentError(f"the snapshot must {rule}, got {root}")
    return base
