"""Reads rows from tables in memory and from Parquet, Arrow, JSON lines and numpy files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final, Protocol

from sleuth.errors import ArgumentError, requires
from sleuth.filters.values import plain_scalar
from sleuth.types import Document

BATCH: Final = 500
"""Rows that are read at a time."""

TEXT_FIELDS: Final = ("text", "page_content", "content", "body")
"""Columns that hold the text where no other is named: the first of these that a table has."""


def row_document(row: Mapping[str, Any], place: str, text_field: str, id_field: str) -> Document:
    """Return a row as a document; fields that are neither text nor id, and neither None nor NaN, are metadata.

    A field `metadata` that holds further fields, as LangChain writes it, counts as these.

    Args:
        place: names the row in messages.

    Raises:
        ArgumentError: a row without a text.
    """
    text, id = row.get(text_field), row.get(id_field)
    if not isinstance(text, str):
        raise ArgumentError(f"{place} must have a {text_field!r}, got {text!r} and the fields {sorted(row)}")
    nested = row.get("metadata")
    fields = {**nested, **row} if isinstance(nested, Mapping) else dict(row)
    reserved = {text_field, id_field} | ({"metadata"} if isinstance(nested, Mapping) else set())
    metadata = {
        key: value for key, value in fields.items() if key not in reserved and plain_scalar(value) is not None
    }
    return Document(text, metadata, id=None if plain_scalar(id) is None else str(id))


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
    items: Iterable[Any]
    if isinstance(documents, str | Path):
        items = read_rows(documents)
    elif hasattr(documents, "__arrow_c_stream__"):
        with requires("pyarrow", "tables", "reading data frames"):
            from pyarrow import ArrowException, RecordBatchReader
        try:
            items = _unpacked(RecordBatchReader.from_stream(documents))
        except ArrowException as error:
            raise ArgumentError(
                f"documents must have columns with names, got {documents!r}: {error}"
            ) from error
    elif isinstance(documents, Mapping | Document) or not isinstance(documents, Iterable):
        raise ArgumentError(f"documents must be an iterable of Document, or a table, got {documents!r}")
    else:
        items = documents
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            if text_field is None:
                text_field = next((name for name in TEXT_FIELDS if name in item), None)
            if text_field is None:
                raise ArgumentError(
                    f"text_field must name the column of texts, one of {sorted(item)}, "
                    f"where none is called {', '.join(TEXT_FIELDS)}; got None"
                )
            yield row_document(item, f"row {number}", text_field, id_field)
        else:
            yield item


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
            hint = f" with folders {splits}: name one" if splits else ""
            raise ArgumentError(f"path must hold files of {', '.join(_KINDS)}, got {str(path)!r}{hint}")
        return chain.from_iterable(map(read_rows, files))
    if path.suffix not in _KINDS:
        raise ArgumentError(f"path must be a file of {', '.join(_KINDS)}, got {str(path)!r}")
    if not path.is_file():
        raise ArgumentError(f"path must be a file, got {str(path)!r}")
    return _KINDS[path.suffix](path)


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:  # also bytes that are not UTF-8
                raise ArgumentError(f"line {number} of {path} must be JSON: {error}") from error
            if not isinstance(row, Mapping):
                raise ArgumentError(f"line {number} of {path} must be an object, got {line[:40]!r}")
            yield row


def _arrow_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Read Parquet, a stream of Arrow, as Hugging Face writes it, or an IPC file."""
    with requires("pyarrow", "tables", f"reading {path.suffix} files"):
        from pyarrow import ArrowException, ipc, memory_map, parquet
    kind = "Parquet" if path.suffix == ".parquet" else "Arrow"
    try:
        if kind == "Parquet":
            yield from _unpacked(parquet.ParquetFile(path).iter_batches(BATCH))
            return
        with memory_map(str(path)) as file:
            is_file = file.read(len(_MAGIC)) == _MAGIC
            file.seek(0)
            if not is_file:
                yield from _unpacked(ipc.open_stream(file))
                return
            batches = ipc.open_file(file)
            yield from _unpacked(map(batches.get_batch, range(batches.num_record_batches)))
    except ArrowException as error:
        raise ArgumentError(f"path must be {kind}, got {str(path)!r}: {error}") from error


_MAGIC = b"ARROW1"
"""First bytes of an IPC file of Arrow; a stream begins otherwise."""


def _unpacked(batches: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            for row in batch.slice(start, BATCH).to_pylist():
                row.pop("__index_level_0__", None)  # the index of a data frame of pandas
                yield row


_KINDS: Final = {
    ".parquet": _arrow_rows,
    ".arrow": _arrow_rows,
    ".feather": _arrow_rows,
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
}
"""Readers of rows, by the suffix of their files."""
