"""Chooses the rows of a damaged code database that go into a new one.

`health.repair` then proves each row, names the snapshots that lost a file, and builds the segments. Commits
are left out: git has them.
"""

from __future__ import annotations

from pathlib import Path

from sleuth.code.snapshots.record import CODE_SCHEMA
from sleuth.store import Connection, Rebuilt, Repair, copy_rows, drop_strays, hopeless, recover


def recover_database(folder: Path, timeout: float = 10.0) -> list[Repair]:
    """Replace the code database of an index folder where its structure is damaged; as `recover`."""
    return recover(folder, CODE_SCHEMA, _rebuild, timeout)


def _rebuild(source: Connection, target: Connection, aside: Path) -> Rebuilt:
    for table in ("repositories", "blobs", "files", "snapshots", "embeddings"):
        copy_rows(source, target, table)
    drop_strays(target)
    (files,) = target.execute("SELECT count(*) FROM files").fetchone()
    if not files:
        raise hopeless(aside.parent, CODE_SCHEMA)
    return Rebuilt(f"{files} versions of files", [])
