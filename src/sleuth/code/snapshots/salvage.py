"""Builds a new code database from the rows of one whose structure is damaged.

Every row that lies on a page that can be read goes into the new database; `health.repair` then proves each by its
checksum, names the snapshots that lost a file, and makes segments anew. Commits are left out: git has them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sleuth.code.snapshots.record import CODE_SCHEMA
from sleuth.store import Connection, Database, Repair
from sleuth.store.catalogue import schema
from sleuth.store.health import replacing

_ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROWS = {
    table: re.compile(shape)
    for table, shape in {
        "repositories": "ttt[if]",
        "blobs": "tb",
        "files": "-t{6}iitiiib",
        "snapshots": "-t{5}[if][if-]ibti",
        "segments": "ttti{5}[b-]",
        "embeddings": "itib",
    }.items()
}
"""What the values of a row are, by table; see `types_of`."""


def salvage(database: Database, timeout: float = 10.0) -> list[Repair]:
    """Replace a code database whose structure is damaged, under the writer's lock; what was kept.

    Returns:
        Empty where the structure is sound.

    Raises:
        IndexDamagedError: nothing of it can be read. Everything stays as it was.
    """
    replaced = replacing.replace_damaged(database, timeout, _rebuild)
    if replaced is None:
        return []
    why = (
        f"its structure was damaged ({replaced.problem}): rebuilt with {replaced.content} versions of files that could "
        f"be read; the damaged one is kept as {replaced.aside.name}"
    )
    return [Repair(database.names.record, why)]


def _rebuild(aside: Path, rebuilt: Connection) -> int:
    """Copy the rows that were found; how many of them are file versions."""
    rebuilt.execute("BEGIN")
    schema.make_tables(rebuilt, CODE_SCHEMA, None)
    names: dict[int, list[str]] = {}
    for row in replacing.page_rows(aside):
        types = replacing.types_of(row)
        if row.key is None:
            if types == "ti":
                name, key = row.values
                names.setdefault(key, []).append(name)
            continue
        table = next((table for table, shape in _ROWS.items() if shape.fullmatch(types)), "")
        if table:
            values: list[Any] = [row.key, *row.values[1:]] if types.startswith("-") else row.values
            replacing.insert(rebuilt, table, values)
    for listed in names.values():
        _restore_repository(rebuilt, listed)
    for table in ("files", "snapshots"):
        rebuilt.execute(f"DELETE FROM {table} WHERE repository NOT IN (SELECT id FROM repositories)")
    rebuilt.execute("DELETE FROM embeddings WHERE file NOT IN (SELECT key FROM files)")
    rebuilt.execute("DELETE FROM segments WHERE leg = 'commits'")  # what they are of is read again
    files: int = rebuilt.execute("SELECT count(*) FROM files").fetchone()[0]
    rebuilt.execute("COMMIT")
    return files


def _restore_repository(rebuilt: Connection, listed: list[str]) -> None:
    """Make known a repository whose row is lost, given what the indexes of its id and of its path list for it."""
    id = next((text for text in listed if _ID.fullmatch(text)), None)
    path = next((text for text in listed if text.startswith("/")), None)
    if id is not None and path is not None:
        replacing.insert(rebuilt, "repositories", [id, path, "", 0.0])
