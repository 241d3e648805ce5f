"""Loader of Parquet files: one document per row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.rows import row_document
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_TOGETHER: Final = 1000
"""Rows that are unpacked at a time."""


def load_parquet(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a document per row. Dates and other values that JSON lacks are texts; bytes are left out."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingPackageError("pyarrow", "cluster", "reading Parquet") from error
    number = 0
    try:
        for batch in parquet.ParquetFile(file.stream).iter_batches(_TOGETHER):
            for value in batch.to_pylist():
                number += 1
                yield row_document(file, number, _plain(value), options, None)
    except (ArrowException, OSError) as error:
        raise LoadError(file.entry.source, f"not Parquet: {str(error).partition(chr(10))[0]}") from error


def _plain(row: dict[str, Any]) -> Any:
    """Return a row as JSON holds it."""
    cells = {name: value for name, value in row.items() if not isinstance(value, bytes)}
    return json.loads(json.dumps(cells, default=str), parse_constant=lambda name: None)
