"""Records the history of a repository: the commits that led to a snapshot, read from git once.

Git lists the newest ancestors of a commit without those of commits whose history is recorded already, and what is not
recorded is read in batches, the newest first. A batch is committed before the next one is read: a run that ends early
has recorded something, and the next one goes on.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sleuth.code.repository.commits import (
    ReadCommit,
    commits_between,
    cut_commits,
    is_commit_id,
    read_between,
    read_commits,
)
from sleuth.code.snapshots.commits import (
    Tips,
    forget_history,
    heads_among,
    insert_commits,
    next_commit,
    read_tips,
    recorded_among,
    write_tips,
)
from sleuth.errors import CodeError

if TYPE_CHECKING:
    from sleuth.code.snapshots.record import Repository
    from sleuth.code.snapshots.snapshot import FileVersions
    from sleuth.code.snapshots.storage import CodeStorage

MOST_COMMITS: Final = 20_000
"""The newest ancestors of a commit that are recorded."""
MOST_COMPARED: Final = 2_000
"""The newest of these whose changed lines are read, too: that takes git a millisecond each."""
_BATCH: Final = 500
_FEW: Final = 200
"""New commits that one run of git lists and compares."""


@dataclass(frozen=True, slots=True)
class History:
    """How much of a history a run records.

    Attributes:
        is_recent: record only the commits since what is recorded; nothing if they are many, or if no commit is
            recorded.
        seconds: begin to read no more commits after so long; the next run goes on.
        progress: called with (commits read, commits to read).
    """

    is_recent: bool = False
    seconds: float = 10.0  # docs/decisions/history-in-the-index.md
    progress: Callable[[int, int], None] | None = None


WHOLE: Final = History()
RECENT: Final = History(is_recent=True)
"""Before an answer: about a fifth of a second at most."""


class Recorded(NamedTuple):
    """What a run recorded of a history.

    Attributes:
        commits: how many.
        left: how many the next run has to read.
    """

    commits: int = 0
    left: int = 0


def is_recorded(storage: FileVersions, repository: Repository, tip: str) -> bool:
    """Return whether the history of a commit is recorded, as far as histories are."""
    return tip in _whole(storage, repository).ids


def record_history(
    storage: CodeStorage, repository: Repository, tip: str, history: History = WHOLE
) -> Recorded:
    """Record the newest ancestors of a commit, itself included, for the run that writes (`storage.writing`).

    Args:
        tip: the full id of the commit.

    Raises:
        CodeError: git failed, or does not have the commit.
    """
    if not is_commit_id(tip):
        raise CodeError(
            f"a snapshot of {repository.path} must name a commit of it, got {tip!r}: index it again"
        )
    tips = _whole(storage, repository)
    if tip in tips.ids or (history.is_recent and not tips.ids):
        return Recorded()
    new_tips = Tips(tips.cut, (tip, *tips.ids))
    recorded = _record_recent(storage, repository, new_tips) if tips.ids else None
    if recorded is not None:
        return recorded
    if history.is_recent:
        return Recorded(left=1)
    _begin(storage, repository, tips.cut)
    root = Path(repository.path)
    ids = commits_between(root, tip, tips.ids, MOST_COMMITS)
    if tip not in ids and _unrecorded(storage, repository, [tip]):  # older than all that is recorded
        ids = commits_between(root, tip, (), MOST_COMMITS)
    unrecorded_ids = _unrecorded(storage, repository, ids)
    compared = set(ids[:MOST_COMPARED])
    deadline = time.monotonic() + history.seconds
    for at in range(0, len(unrecorded_ids), _BATCH):
        if at and time.monotonic() > deadline:
            return Recorded(at, len(unrecorded_ids) - at)
        batch = unrecorded_ids[at : at + _BATCH]
        _add(storage, repository, read_commits(root, batch, with_changes=batch[0] in compared))
        if history.progress is not None:
            history.progress(at + len(batch), len(unrecorded_ids))
    with storage.transaction(durable=False) as connection:
        write_tips(connection, repository.id, new_tips)
    return Recorded(len(unrecorded_ids))


def _record_recent(storage: CodeStorage, repository: Repository, tips: Tips) -> Recorded | None:
    """Record the few commits after which a history is whole; None where they are many, or git gives up."""
    tip, *recorded_tips = tips.ids
    with storage.reading() as connection:
        heads = heads_among(connection, repository.id, recorded_tips)  # git opens each of them
    try:
        entries = read_between(Path(repository.path), tip, heads, _FEW + 1)
    except CodeError:
        return None
    ids = [commit.commit.id for commit in entries]
    new_ids = set(_unrecorded(storage, repository, [*ids, tip]))
    if len(ids) > _FEW or not new_ids.issubset(ids):
        return None
    with storage.transaction(durable=False) as connection:
        _add(storage, repository, [commit for commit in entries if commit.commit.id in new_ids])
        write_tips(connection, repository.id, tips)
    return Recorded(len(new_ids))


def _unrecorded(storage: CodeStorage, repository: Repository, ids: Sequence[str]) -> list[str]:
    with storage.reading() as connection:
        recorded = recorded_among(connection, repository.id, ids)
    return [id for id in ids if id not in recorded]


def _whole(storage: FileVersions, repository: Repository) -> Tips:
    """Return the commits whose history is whole, none where the clone is cut elsewhere now.

    Read before git: where a clone is cut elsewhere meanwhile, the next run reads it again.
    """
    border_ids = sorted(cut_commits(Path(repository.path)))
    borders = f"{zlib.crc32(' '.join(border_ids).encode()):08x}" if border_ids else ""
    with storage.reading() as connection:
        tips = read_tips(connection, repository.id)
    return tips if tips is not None and tips.cut == borders else Tips(borders, ())


def _begin(storage: CodeStorage, repository: Repository, borders: str) -> None:
    """Forget the history of a clone that was cut elsewhere: the parents of some commits are others."""
    with storage.reading() as connection:
        tips = read_tips(connection, repository.id)
    if tips is not None and tips.cut == borders:
        return
    with storage.transaction(durable=False) as connection:
        if tips is not None:
            forget_history(connection, repository.id)
        write_tips(connection, repository.id, Tips(borders, ()))
    if tips is not None:
        storage.forget()


def _add(storage: CodeStorage, repository: Repository, commits: Sequence[ReadCommit]) -> None:
    """Keep commits with their segment.

    A history that a power cut takes away is read again, so that nobody waits for the disk.
    """
    if not commits:
        return
    leg = storage.words.commits
    words = leg.builder()
    texts = {
        "message": [entry.commit.message for entry in commits],
        "paths": ["\n".join(entry.paths) for entry in commits],
        "changes": [entry.changes for entry in commits],
    }
    words.add(texts, len(commits))
    with storage.publishing(durable=False) as (connection, segments):
        key = next_commit(connection)
        segments.append(storage.shelf.build(leg, np.arange(key, key + len(commits)), words))
        storage.shelf.publish(connection, segments)
        insert_commits(connection, repository.id, commits, key)
