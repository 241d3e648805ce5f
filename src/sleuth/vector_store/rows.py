"""Reads rows, with or without vectors, from tables in memory and from Parquet, Arrow, JSON lines and numpy files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.types import Document
from sleuth.vector_store.stored import BATCH, StoredVector, StoredVectors, row_document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


T = TypeVar("T")


TEXT_FIELDS: Final = ("text", "page_content", "content", "body")
"""Columns that hold the text where no other is named: the first of these that a table has."""


class ArrowTable(Protocol):
    """A table in memory: a data frame of pandas or Polars, a table or reader of Arrow."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Give the rows as Arrow exchanges them between packages."""


def documents_of(
    documents: Iterable[Document | Mapping[str, Any]] | ArrowTable | str | Path,
    text_field: str | None = None,
    id_field: str = "id",
) -> Iterator[Document]:
    """Yield documents as they are, and rows as documents, some at a time; see `Engine.add`.

    Raises:
        ArgumentError: something else than documents or a table, a table without a column of texts, or a row without
            a text; names the columns, or the row.
        MissingPackageError: pyarrow is not installed, and the table needs it.
    """
    items = read_rows(documents) if isinstance(documents, str | Path) else _items_of(documents)
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            text_field = _text_field(item) if text_field is None else text_field
            yield row_document(item, f"row {number}", text_field, id_field)
        else:
            yield item


def _text_field(row: Mapping[str, Any]) -> str:
    for name in TEXT_FIELDS:
        if name in row:
            return name
    raise ArgumentError(
        f"text_field must name the column of texts, one of {sorted(row)}, "
        f"where none is called {', '.join(TEXT_FIELDS)}; got None"
    )


def _items_of(documents: Iterable[Any] | ArrowTable) -> Iterator[Any]:
    if not hasattr(documents, "__arrow_c_stream__"):
        if isinstance(documents, Mapping | Document) or not isinstance(documents, Iterable):
            raise ArgumentError(f"documents must be an iterable of Document, or a table, got {documents!r}")
        return iter(documents)
    try:
        from pyarrow import ArrowException, RecordBatchReader
    except ImportError as error:
        raise MissingPackageError("pyarrow", "tables", "reading data frames") from error
    try:
        return _unpacked(RecordBatchReader.from_stream(documents))
    except ArrowException as error:
        raise ArgumentError(f"documents must have columns with names, got {documents!r}: {error}") from error


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
    matrix = None if vectors is None else _matrix(Path(vectors))
    rows = _with_vectors(path, matrix, text_field, id_field, vector_field)
    return StoredVectors(str(path), rows, _count(Path(path)) if matrix is None else len(matrix))


def _with_vectors(
    path: str | Path, matrix: NDArray[Any] | None, text_field: str, id_field: str, vector_field: str
) -> Iterator[StoredVector]:
    number = 0
    for number, row in enumerate(read_rows(path), 1):
        values = dict(row)
        if matrix is not None and number > len(matrix):
            raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for at least {number}")
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


def read_rows(path: str | Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a file as mappings from column to value; of a folder, of its files by name.

    Args:
        path: a file of Parquet, Arrow or JSON lines, or a folder of such files, such as `Dataset.save_to_disk` writes.

    Raises:
        ArgumentError: a path of another kind, or a file that is damaged.
        MissingPackageError: pyarrow, which reads Parquet and Arrow, is not installed.
    """
    path = Path(path)
    if path.is_dir():
        splits = sorted(part.name for part in path.iterdir() if part.is_dir())
        files = sorted(part for part in path.iterdir() if part.suffix in _KINDS)
        if not files:
            raise ArgumentError(
                f"path must hold files of {', '.join(_KINDS)}, got {str(path)!r} with folders {splits}: name one"
                if splits
                else f"path must hold files of {', '.join(_KINDS)}, got {str(path)!r}"
            )
        return chain.from_iterable(map(read_rows, files))
    if path.suffix not in _KINDS:
        raise ArgumentError(f"path must be a file of {', '.join(_KINDS)}, got {str(path)!r}")
    if not path.is_file():
        raise ArgumentError(f"path must be a file, got {str(path)!r}")
    return _KINDS[path.suffix](path)


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
    from pyarrow import parquet

    return _unpacked(parquet.ParquetFile(path).iter_batches(BATCH))


def _parquet_counts(path: Path) -> Iterator[int]:
    from pyarrow import parquet

    yield parquet.ParquetFile(path).metadata.num_rows


def _count(path: Path) -> int | None:
    """Return how many rows the files of a path say they have; None where one of them does not say."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    if not all(file.is_file() and file.suffix == ".parquet" for file in files):
        return None
    return sum(next(_by_arrow(_parquet_counts)(file)) for file in files)


def _arrow_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read a stream of Arrow, as Hugging Face writes it, or an IPC file."""
    from pyarrow import ipc, memory_map

    with memory_map(str(path)) as file:
        is_file = file.read(len(_MAGIC)) == _MAGIC
        file.seek(0)
        if not is_file:
            yield from _unpacked(ipc.open_stream(file))
            return
        batches = ipc.open_file(file)
        yield from _unpacked(map(batches.get_batch, range(batches.num_record_batches)))


_MAGIC = b"ARROW1"
"""First bytes of an IPC file of Arrow; a stream begins otherwise."""


def _unpacked(batches: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            for row in batch.slice(start, BATCH).to_pylist():
                row.pop("__index_level_0__", None)  # the index of a data frame of pandas
                yield row


def _by_arrow(reader: Callable[[Path], Iterator[T]]) -> Callable[[Path], Iterator[T]]:
    """Return a reader that names a missing package and a damaged file."""

    def rows(path: Path) -> Iterator[T]:
        try:
            from pyarrow import ArrowException
        except ImportError as error:
            raise MissingPackageError("pyarrow", "tables", f"reading {path.suffix} files") from error
        try:
            yield from reader(path)
        except ArrowException as error:
            kind = "Parquet" if path.suffix == ".parquet" else "Arrow"
            raise ArgumentError(f"path must be {kind}, got {str(path)!r}: {error}") from error

    return rows


_KINDS: Final = {
    ".parquet": _by_arrow(_parquet_rows),
    ".arrow": _by_arrow(_arrow_rows),
    ".feather": _by_arrow(_arrow_rows),
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
}
"""Readers of rows, by the suffix of their files."""
