"""Reads a table of LanceDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sleuth.errors import ArgumentError, requires
from sleuth.plugins.importers.stored import StoredVector, StoredVectors, chosen_name
from sleuth.vector_store import BATCH, row_document


def read_lancedb(
    path: str | Path,
    table: str | None = None,
    *,
    text_field: str = "text",
    id_field: str = "id",
    vector_field: str = "vector",
) -> StoredVectors:
    """Return the rows of a table in a folder of LanceDB.

    Args:
        table: its name; may be left out where there is one.
        text_field, id_field, vector_field: names of columns; further columns are metadata.

    Raises:
        ArgumentError: no such folder or table, or a column that is missing; lists the names.
        MissingPackageError: lancedb is not installed.
    """
    if not Path(path).is_dir():
        raise ArgumentError(f"path must be a folder of LanceDB, got {str(path)!r}")
    with requires("lancedb", "imports", "reading LanceDB"):
        import lancedb
    database = lancedb.connect(str(path))
    names = sorted(part.stem for part in Path(path).glob("*.lance"))
    name = chosen_name("table", table, names, str(path))
    source = database.open_table(name)
    columns = source.schema.names
    for column in (text_field, vector_field):
        if column not in columns:
            raise ArgumentError(f"{column!r} must be a column of {name}, got {', '.join(columns)}")

    def rows() -> Iterator[StoredVector]:
        batches = source.search().to_batches(BATCH)
        for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
            vector = row.pop(vector_field)
            document = row_document(row, f"row {number} of {path}/{name}", text_field, id_field)
            yield StoredVector(document, vector)

    return StoredVectors(f"{path}/{name}", rows(), source.count_rows())
