"""Data frames, Arrow tables and data sets on disk as documents, and results as rows of a data frame.

import pandas
from sleuth.integrations.tables import documents, to_rows

engine.add(documents(frame, text_field="body"))
pandas.DataFrame(to_rows(engine.retrieve("refilling buckets")))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.types import Document, RetrievedItem
from sleuth.vector_store import read_rows, row_document

_OWN = ("rank", "id", "document_id", "score", "text")


def documents(table: Any, *, text_field: str = "text", id_field: str = "id") -> Iterator[Document]:
    """Yield the rows of a table as documents, some at a time, for `Engine.add`.

    Args:
        table: a data frame of pandas or Polars, a table or reader of Arrow, a data set of Hugging Face, anything else
            that yields mappings, or the path of a file of Parquet, Arrow or JSON lines, or of a folder of such files.
        text_field: name of the column of texts.
        id_field: name of the column of ids, which may be missing. Further columns are metadata.

    Raises:
        ArgumentError: something else than a table, or a row without a text; names the row.
        MissingPackageError: pyarrow is not installed, and the table needs it.
    """
    rows = read_rows(table) if isinstance(table, str | Path) else _rows_of(table)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise ArgumentError(f"row {number} must be a mapping of columns to values, got {row!r}")
        yield row_document(row, f"row {number}", text_field, id_field)


def to_rows(items: Iterable[RetrievedItem]) -> list[dict[str, Any]]:
    """Return results as rows, which `pandas.DataFrame`, `polars.DataFrame` and `pyarrow.Table.from_pylist` take.

    The columns are `rank` (from 1), `id`, `document_id`, `score`, `text`, and each key of metadata. Keys of these names
    are left out. Results without a value have None there.
    """
    items = list(items)
    keys = {key: None for item in items for key in item.metadata if key not in _OWN}
    return [
        {
            "rank": rank,
            "id": item.id,
            "document_id": item.document_id,
            "score": item.score,
            "text": item.text,
            **{key: item.metadata.get(key) for key in keys},
        }
        for rank, item in enumerate(items, 1)
    ]


def _rows_of(table: Any) -> Iterator[Any]:
    if not hasattr(table, "__arrow_c_stream__"):
        if not isinstance(table, Iterable) or isinstance(table, Mapping):
            raise ArgumentError(f"table must be a data frame or yield mappings, got {table!r}")
        yield from table
        return
    try:
        from pyarrow import RecordBatchReader
    except ImportError as error:
        raise MissingPackageError("pyarrow", "tables", "reading data frames") from error
    for batch in RecordBatchReader.from_stream(table):
        for start in range(0, batch.num_rows, _TOGETHER):
            for row in batch.slice(start, _TOGETHER).to_pylist():
                row.pop("__index_level_0__", None)  # the index of a data frame of pandas
                yield row


_TOGETHER = 500
"""Rows that are unpacked at a time."""
