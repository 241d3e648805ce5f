"""Reads rows with vectors from Parquet, Arrow, JSON lines and numpy files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.errors import ArgumentError
from sleuth.plugins.importers.stored import StoredVector, StoredVectors
from sleuth.vector_store import read_rows, row_document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_vectors(
    path: str | Path,
    vectors: str | Path | None = None,
    *,
    text_field: str = "text",
    id_field: str = "id",
    vector_field: str = "vector",
) -> StoredVectors:
    """Return the rows of a file, or of a folder of files, with their vectors, which are never all in memory.

    Args:
        path: of the rows, as of `read_rows`.
        vectors: a numpy file (`.npy`), shape (rows, dimension), in the order of the rows; None where the rows have a
            field with their vectors.
        text_field, id_field, vector_field: names of fields, of which the others are metadata; rows without an id are
            named by a hash of their content.

    Raises:
        ArgumentError: a file of another kind, a row without text or vector, or another number of vectors than rows.
        MissingPackageError: pyarrow, which reads Parquet and Arrow, is not installed.
    """
    matrix: NDArray[np.floating[Any]] | None = None
    if vectors is not None:
        import numpy as np

        try:
            matrix = np.load(vectors, mmap_mode="r", allow_pickle=False)  # pages are read when they are used
        except (ValueError, OSError) as error:
            raise ArgumentError(
                f"vectors must be a numpy file (.npy), got {str(vectors)!r}: {error}"
            ) from error
        if matrix.ndim != 2 or matrix.dtype.kind != "f":
            raise ArgumentError(
                f"vectors must be floats of shape (rows, dimension), got {matrix.dtype} of shape {matrix.shape}"
            )

    def rows() -> Iterator[StoredVector]:
        number = 0
        for number, row in enumerate(read_rows(path), 1):
            values = dict(row)
            if matrix is not None and number > len(matrix):
                raise ArgumentError(
                    f"vectors must be as many as rows, got {len(matrix)} for at least {number}"
                )
            vector: Sequence[float] | None = values.pop(vector_field, None)
            if matrix is not None:
                vector = matrix[number - 1].tolist()
            place = f"row {number} of {path}"
            document = row_document(values, place, text_field, id_field)
            if not vector:
                raise ArgumentError(f"{place} must have a {vector_field!r}, got {sorted(row)}")
            yield StoredVector(document, vector)
        if matrix is not None and number < len(matrix):
            raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for {number}")

    return StoredVectors(str(path), rows(), _count(Path(path)) if matrix is None else len(matrix))


def _count(path: Path) -> int | None:
    """Return how many rows the files of a path say they have; None where one of them does not say."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    if not all(file.is_file() and file.suffix == ".parquet" for file in files):
        return None
    from pyarrow import parquet

    count: int = sum(parquet.ParquetFile(file).metadata.num_rows for file in files)
    return count
