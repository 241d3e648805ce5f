"""Which documents are the rows of a CSV, TSV, JSON or JSONL file?"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.ingest.encodings import decode, is_binary, marked_encoding
from sleuth.ingest.loaders.registry import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.records import Skipped
from sleuth.types import Document

_TITLES: Final = ("title", "name", "Title", "Name")
_DEPTH: Final = 100
_TOO_LONG: Final = "\0too long"
_surrogate = re.compile("[\ud800-\udfff]")


class _RowError(ValueError):
    """A row that cannot be kept; the message is the reason."""


def load_csv(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """A document per row that is not blank; the first row names the fields."""
    if is_binary(file.head):
        raise LoadError(file.entry.source, "binary")
    lines = _text_lines(file, options)
    rows = _csv_rows(lines, "\t" if file.kind == "tsv" else _delimiter(file.head), options.max_row_bytes)
    first = next(rows, [])
    if isinstance(first, _RowError):
        raise LoadError(file.entry.source, f"in its first row: {first}")
    names = _names(first)
    for number, values in enumerate(rows, 1):
        if isinstance(values, _RowError):
            yield _skipped(file, number, str(values))
        else:
            yield _row(file, number, dict(zip(_more(names, len(values)), values, strict=False)), options)


def _csv_rows(lines: Iterator[str], delimiter: str, limit: int) -> Iterator[list[str] | _RowError]:
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        # The limit belongs to the whole process: it is ours only while a row is read.
        before = csv.field_size_limit(limit)
        try:
            values = next(reader, None)
        except csv.Error as error:
            yield _RowError(str(error))
            continue
        finally:
            csv.field_size_limit(before)
        if values is None:
            return
        if _TOO_LONG in values:
            yield _RowError(f"over the limit of {limit:,} bytes")
        elif any(values):
            yield values


def load_jsonl(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """A document per line that is not blank."""
    if is_binary(file.head):
        raise LoadError(file.entry.source, "binary")
    number = 0
    for line in _text_lines(file, options):
        if not line or line.isspace():
            continue
        number += 1
        if line == _TOO_LONG:
            yield _skipped(file, number, f"over the limit of {options.max_row_bytes:,} bytes")
            continue
        try:
            value = _parse(line)
        except _RowError as error:
            yield _skipped(file, number, str(error))
            continue
        yield _row(file, number, value, options)


def load_json(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """A document per member of a list; one document of anything else."""
    text, metadata = file.text()
    try:
        value = _parse(text)
    except _RowError as error:
        raise LoadError(file.entry.source, str(error)) from error
    if isinstance(value, list):
        for number, item in enumerate(value, 1):
            yield _row(file, number, item, options)
        return
    row = _row(file, None, value, options)
    if isinstance(row, Skipped):
        raise LoadError(file.entry.source, row.reason)
    row.metadata.update(metadata)
    yield row


def _text_lines(file: FileBytes, options: ReadOptions) -> Iterator[str]:
    """Lines, decoded one by one; in place of one over the limit, which is never held whole, stands `_TOO_LONG`."""
    if marked_encoding(file.head) not in (None, "utf-8-sig") or b"\0" in file.head:
        if file.entry.size > options.max_bytes:
            raise LoadError(file.entry.source, "UTF-16 and too large to convert")
        yield from io.StringIO(file.text()[0])
        return
    file.stream.seek(len(codecs.BOM_UTF8) if file.head.startswith(codecs.BOM_UTF8) else 0)
    limit = options.max_row_bytes
    other = "latin-1"
    while line := file.stream.readline(limit + 1):
        if len(line) > limit and not line.endswith(b"\n"):
            while (rest := file.stream.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            yield _TOO_LONG
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text, other = decode(line, other if other != "latin-1" else None)
        yield text[:-2] + "\n" if text.endswith("\r\n") else text


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda name: None)
    except RecursionError:
        raise _RowError("nested too deeply") from None
    except ValueError as error:
        raise _RowError(f"not JSON: {error}") from None


def _delimiter(head: bytes) -> str:
    """The commonest of comma, semicolon and tab in the first line."""
    line = head.partition(b"\n")[0]
    return max((b",", b";", b"\t"), key=line.count).decode()


def _names(values: list[str]) -> list[str]:
    """Names of fields: a blank one is named by its position, a second one of a name gets its position, too."""
    names: list[str] = []
    for position, value in enumerate(values, 1):
        name = value.strip().removeprefix("\ufeff") or f"field {position}"
        names.append(f"{name} {position}" if name in names else name)
    return names


def _more(names: list[str], count: int) -> Iterable[str]:
    return (
        names if count <= len(names) else [*names, *(f"field {i}" for i in range(len(names) + 1, count + 1))]
    )


def _skipped(file: FileBytes, number: int, reason: str) -> Skipped:
    return Skipped(f"{file.entry.source}#{number}", reason, "row")


def _row(file: FileBytes, number: int | None, value: Any, options: ReadOptions) -> Document | Skipped:
    try:
        fields = dict(_flat(value))
        text = _text(fields, options)
        metadata = _metadata(fields, options)
    except _RowError as error:
        return _skipped(file, number or 1, str(error))
    if _surrogate.search(text) or _surrogate.search(json.dumps(metadata, ensure_ascii=False)):
        return _skipped(file, number or 1, "holds a lone surrogate, which is no text")
    if number is not None:
        metadata = {"source": f"{file.entry.source}#{number}", "row": number, **metadata}
    id = None
    if options.id_field is not None:
        id = _as_text(fields.get(options.id_field)) or None
    return Document(text, metadata, id=id)


def _flat(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Fields of nested objects by their path; a list of plain values is one field."""
    if depth > _DEPTH:
        raise _RowError("nested too deeply")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else key, depth + 1)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, 1):
            yield from _flat(item, f"{prefix}.{number}" if prefix else str(number), depth + 1)
    else:
        yield prefix, value


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(filter(None, map(_as_text, value)))
    try:
        return str(value)
    except ValueError:
        raise _RowError("a number of too many digits") from None


def _text(fields: Mapping[str, Any], options: ReadOptions) -> str:
    """The chosen fields, a blank line between them; else all that hold text as `key: value` lines."""
    if options.text_fields:
        chosen = (_as_text(fields.get(name)) for name in options.text_fields)
        text = "\n\n".join(filter(None, chosen))
    else:
        left_out = {*options.metadata_fields, options.id_field}
        pairs = ((name, _as_text(value)) for name, value in fields.items() if name not in left_out)
        text = "\n".join(f"{name}: {value}" if name else value for name, value in pairs if value)
    if not text:
        raise _RowError("no text in its fields")
    return text


def _metadata(fields: Mapping[str, Any], options: ReadOptions) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name in options.metadata_fields:
        value = fields.get(name)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _RowError(f"{name} must fit in 64 bits to be metadata")
        if value is not None and value != "":
            metadata[name] = value
    candidates = (options.title_field,) if options.title_field else _TITLES
    title = next((_as_text(fields[name]) for name in candidates if name in fields), "")
    if title:
        metadata["title"] = title
    return metadata
