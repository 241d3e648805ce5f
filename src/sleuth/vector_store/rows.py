"""Reads rows with their vectors from Parquet, JSON lines and numpy files, some at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.types import Document
from sleuth.vector_store.chroma import StoredVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOGETHER = 500
"""Rows of Parquet that are unpacked at a time."""


def read_vectors(
    path: str | Path, vectors: str | Path | None, *, text_field: str, id_field: str, vector_field: str
) -> Iterator[StoredVector]:
    """Yield rows as documents with their vectors; see `sleuth.engine.import_vectors`."""
    matrix = None if vectors is None else _matrix(Path(vectors))
    number = 0
    for number, row in enumerate(_rows(Path(path)), 1):
        values = dict(row)
        if matrix is not None and number > len(matrix):
            raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for at least {number}")
        vector: Sequence[float] | None = values.pop(vector_field, None)
        if matrix is not None:
            vector = matrix[number - 1].tolist()
        text, name = values.pop(text_field, None), values.pop(id_field, None)
        if not isinstance(text, str) or not vector:
            missing = vector_field if isinstance(text, str) else text_field
            raise ArgumentError(f"row {number} of {path} must have a {missing!r}, got {sorted(row)}")
        metadata = {key: value for key, value in values.items() if value is not None}
        yield StoredVector(Document(text, metadata, id=None if name is None else str(name)), vector)
    if matrix is not None and number < len(matrix):
        raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for {number}")


def _matrix(path: Path) -> NDArray[np.floating[Any]]:
    """Map a numpy file, whose pages are read when they are used."""
    import numpy as np

    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ArgumentError(f"vectors must be a numpy file (.npy), got {str(path)!r}: {error}") from error
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise ArgumentError(
            f"vectors must be floats of shape (rows, dimension), got {matrix.dtype} of shape {matrix.shape}"
        )
    return matrix


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    kinds = {".parquet": _parquet_rows, ".jsonl": _json_rows, ".ndjson": _json_rows}
    if path.suffix not in kinds:
        raise ArgumentError(f"path must be a file of {', '.join(kinds)}, got {str(path)!r}")
    if not path.is_file():
        raise ArgumentError(f"path must be a file, got {str(path)!r}")
    return kinds[path.suffix](path)


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ArgumentError(f"line {number} of {path} must be JSON: {error}") from error
            if not isinstance(row, Mapping):
                raise ArgumentError(f"line {number} of {path} must be an object, got {line[:40]!r}")
            yield row


def _parquet_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise MissingPackageError("pyarrow", "cluster", "reading Parquet") from error
    try:
        for batch in parquet.ParquetFile(path).iter_batches(_TOGETHER):
            yield from batch.to_pylist()
    except ArrowException as error:
        raise ArgumentError(f"path must be Parquet, got {str(path)!r}: {error}") from error
