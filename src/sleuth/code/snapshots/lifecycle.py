"""The states of a snapshot: it is being indexed, then completed or failed."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sleuth.code.snapshots import record
from sleuth.store.record.layout import Connection


def begin(connection: Connection, repository: str, id: str, base: str, names: Sequence[str]) -> None:
    """Record that a snapshot is being indexed. A completed one stays complete."""
    connection.execute(
        "INSERT INTO snapshots(id, repository, base, names, status, started, finished, files, members, error, "
        "checksum) VALUES (?, ?, ?, ?, 'indexing', ?, NULL, 0, x'', '', 0) ON CONFLICT(repository, id) DO "
        "UPDATE SET status = 'indexing', started = excluded.started, error = '' WHERE status != 'completed'",
        (id, repository, base, " ".join(names), time.time()),
    )


def complete(
    connection: Connection, repository: str, id: str, names: Sequence[str], members: NDArray[np.int64]
) -> None:
    """Mark a snapshot as complete and the newest; its branches and tags name no other one from now on."""
    packed = record.pack_members(members)
    checksum = record.members_checksum(repository, id, packed)
    connection.execute(
        "UPDATE snapshots SET status = 'completed', finished = ?, files = ?, members = ?, checksum = ?, "
        "names = ?, error = '', "
        "serial = (SELECT max(serial) + 1 FROM snapshots) "  # clocks go back, and a serial does not
        "WHERE repository = ? AND id = ?",
        (time.time(), len(members), packed, checksum, " ".join(names), repository, id),
    )
    names_by_snapshot = connection.execute(
        "SELECT id, names FROM snapshots WHERE repository = ? AND id != ? AND names != ''", (repository, id)
    ).fetchall()
    for other_id, other_names in names_by_snapshot:  # a branch or a tag names one commit
        remaining = " ".join(name for name in other_names.split() if name not in names)
        if remaining != other_names:
            connection.execute(
                "UPDATE snapshots SET names = ? WHERE repository = ? AND id = ?",
                (remaining, repository, other_id),
            )


def make_newest(connection: Connection, repository: str, id: str) -> None:
    """Mark a completed snapshot as the newest."""
    connection.execute(
        "UPDATE snapshots SET serial = (SELECT max(serial) + 1 FROM snapshots) WHERE repository = ? AND id = ?",
        (repository, id),
    )


def fail(connection: Connection, repository: str, id: str, error: str) -> None:
    """Record that a run failed."""
    connection.execute(
        "UPDATE snapshots SET status = 'failed', error = ? "
        "WHERE repository = ? AND id = ? AND status = 'indexing'",
        (error, repository, id),
    )
