"""Reads rows, with or without vectors, from Parquet, Arrow, JSON lines and numpy files, some at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sleuth.errors import ArgumentError, MissingPackageError
from sleuth.types import Document
from sleuth.vector_store.chroma import StoredVector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TOGETHER = 500
"""Rows of Parquet and Arrow that are unpacked at a time."""


def read_vectors(
    path: str | Path, vectors: str | Path | None, *, text_field: str, id_field: str, vector_field: str
) -> Iterator[StoredVector]:
    """Yield rows as documents with their vectors; see `sleuth.engine.import_vectors`."""
    matrix = None if vectors is None else _matrix(Path(vectors))
    number = 0
    for number, row in enumerate(read_rows(path), 1):
        values = dict(row)
        if matrix is not None and number > len(matrix):
            raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for at least {number}")
        vector: Sequence[float] | None = values.pop(vector_field, None)
        if matrix is not None:
            vector = matrix[number - 1].tolist()
        if not vector:
            raise ArgumentError(f"row {number} of {path} must have a {vector_field!r}, got {sorted(row)}")
        yield StoredVector(row_document(values, f"row {number} of {path}", text_field, id_field), vector)
    if matrix is not None and number < len(matrix):
        raise ArgumentError(f"vectors must be as many as rows, got {len(matrix)} for {number}")


def row_document(row: Mapping[str, Any], place: str, text_field: str, id_field: str) -> Document:
    """Return a row as a document; fields that are neither text nor id, and are not None, are metadata.

    Args:
        place: names the row in messages.

    Raises:
        ArgumentError: a row without a text.
    """
    text, id = row.get(text_field), row.get(id_field)
    if not isinstance(text, str):
        raise ArgumentError(f"{place} must have a {text_field!r}, got {text!r} and the fields {sorted(row)}")
    own = (text_field, id_field)
    metadata = {key: value for key, value in row.items() if value is not None and key not in own}
    return Document(text, metadata, id=None if id is None else str(id))


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
    """Yield the rows of a file, or of the files of a data set in a folder, by name.

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

    return _unpacked(parquet.ParquetFile(path).iter_batches(_TOGETHER))


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
        for start in range(0, batch.num_rows, _TOGETHER):
            yield from batch.slice(start, _TOGETHER).to_pylist()


def _by_arrow(
    reader: Callable[[Path], Iterator[Mapping[str, Any]]],
) -> Callable[[Path], Iterator[Mapping[str, Any]]]:
    """Return a reader that names a missing package and a damaged file."""

    def rows(path: Path) -> Iterator[Mapping[str, Any]]:
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
