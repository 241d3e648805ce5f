"""Loaders of CSV, TSV, JSON, JSONL and Parquet files: one document per row."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from sleuth.arguments import fits_int64
from sleuth.errors import LoadError, requires
from sleuth.files import decode
from sleuth.files.encodings import is_binary, marked_encoding
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.prose import NUMBERS, SAMPLE_OF_ROWS, has_words, why_no_rows
from sleuth.ingest.reports import Skipped
from sleuth.types import RESERVED, UPLOAD, Document

_TITLES: Final = ("title", "name", "Title", "Name")
_DEPTH: Final = 100
_FIELDS: Final = 100_000
_TOO_MANY: Final = f"more than {_FIELDS:,} fields"
_NAME: Final = 1_000
"""Characters of a field's name at most: each value is written after its name, so a long one multiplies a small file."""
_LONG_NAME: Final = f"a field's name of more than {_NAME:,} characters"
_VALUES: Final = 5_000_000
"""Values of one JSON file: Python needs about 100 bytes for each."""
_TOO_LONG: Final = "\0too long"
_COLUMNS: Final = 100
"""Fields of a file that become metadata without being chosen: each is a column of every segment."""
_LABEL: Final = 100
"""Characters of such a value at most: dates, names and labels are compared, longer texts are searched by words."""
_OTHERS: Final = RESERVED | {"language", "source_type", "title", UPLOAD}
"""Metadata keys that a field does not set: the engine reads them."""
_TRUTHS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NO_LINES: Final = (0, 0)
_AHEAD: Final = 256 << 10
_TOGETHER: Final = 1000
"""Rows of Parquet that are unpacked at a time."""
_number = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(\.[0-9]{1,15})?")
_blanks = re.compile(r"[ \t\n\r]*")
_surrogate = re.compile("[\ud800-\udfff]")
_DELIMITERS: Final = (",", ";", "\t", "|")
_separator = re.compile(r'(?:\xef\xbb\xbf)?"?sep=([,;\t|])"?\n', re.IGNORECASE)
_quoted_cell = re.compile(r'(?:^|(?<=[,;\t|]))"[^"]*+(?>(?:""[^"]*+)*)"', re.MULTILINE)


_JSON: Final = json.JSONDecoder(
    parse_constant=lambda name: None,
    parse_float=lambda number: value if math.isfinite(value := float(number)) else None,
)
"""Reads NaN, and numbers that are too large for a float, as None."""


class _RowError(ValueError):
    """A row that cannot be kept; the message is the reason."""


def load_csv(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a document per row that is not blank; the first row names the fields.

    Of many rows that are numbers alone only the names of the fields are read.

    Cells become metadata as well: numbers if they are written as one ("2022", "-1.5", "19.90"; not "007", "+1", "1e5"
    or "1,000"), `True` and `False`, and other short texts as they are.
    """
    if is_binary(file.head):
        raise LoadError(file.entry.source, "binary", kind="binary")
    only_names = _check_rows(file, options)
    lines = _text_lines(file, options)
    delimiter, has_names = ("\t", False) if file.kind == "tsv" else _delimiter(file.head)
    rows = _csv_rows(lines, delimiter, options.max_row_bytes)
    first, _ = next(rows, ([], _NO_LINES))
    if has_names:
        first, _ = next(rows, ([], _NO_LINES))
    if isinstance(first, _RowError):
        raise LoadError(file.entry.source, f"in its first row: {first}")
    if any(len(name) > _NAME for name in first):
        raise LoadError(file.entry.source, f"in its first row: {_LONG_NAME}", kind="limits")
    names = _names(first)
    if only_names:
        if not has_words(" ".join(first).encode("utf-8", "surrogatepass")):
            raise LoadError(file.entry.source, f"{NUMBERS}; --all reads it", kind="no prose")
        yield Document(", ".join(names))
        return
    for number, (values, span) in enumerate(rows, 1):
        if isinstance(values, _RowError):
            yield _skipped(file, number, str(values))
        else:
            further_names = [f"field {i}" for i in range(len(names) + 1, len(values) + 1)]
            fields = dict(zip([*names, *further_names], values, strict=False))
            yield row_document(file, number, fields, options, span)


def _csv_rows(
    lines: Iterator[str], delimiter: str, limit: int
) -> Iterator[tuple[list[str] | _RowError, tuple[int, int]]]:
    """Yield rows that are not blank, each with its first and last line."""
    inside = too_long = (
        False  # state of the current row: whether it has begun, and whether one of its lines is missing
    )

    def row_lines() -> Iterator[str]:
        nonlocal inside, too_long
        for line in lines:
            started, inside = inside, True
            if line.startswith(_TOO_LONG):
                too_long = True
                quote = line.removeprefix(_TOO_LONG)  # closes the quoted cell, or opens one
                yield "x" + quote if started else quote + "x"
            else:
                yield line

    reader = csv.reader(row_lines(), delimiter=delimiter)
    while True:
        inside = too_long = False
        start = reader.line_num + 1
        # The limit is global to the process: set it only while a row is read.
        limit_before = csv.field_size_limit(limit)
        values: list[str] | _RowError | None
        try:
            values = next(reader, None)
        except csv.Error as error:
            values = _RowError(str(error).partition(" - ")[0])  # the rest addresses programmers
        finally:
            csv.field_size_limit(limit_before)
        if values is None:
            return
        if too_long:
            values = _RowError(f"over the limit of {limit:,} bytes")
        elif not isinstance(values, _RowError) and len(values) > _FIELDS:
            values = _RowError(_TOO_MANY)
        if isinstance(values, _RowError) or any(values):
            yield values, (start, reader.line_num)


def load_jsonl(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a document per line that is not blank."""
    if is_binary(file.head):
        raise LoadError(file.entry.source, "binary", kind="binary")
    _check_rows(file, options)
    number = 0
    for at, line in enumerate(_text_lines(file, options), 1):
        if not line or line.isspace():
            continue
        number += 1
        if line.startswith(_TOO_LONG):
            yield _skipped(file, number, f"over the limit of {options.max_row_bytes:,} bytes")
            continue
        try:
            value = _parse(line)
        except _RowError as error:
            yield _skipped(file, number, str(error))
            continue
        yield row_document(file, number, value, options, (at, at))


def load_json(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a document per member of a list; one document for any other value."""
    _check_rows(file, options)
    text, metadata = file.text()
    if len(text) > _VALUES and sum(map(text.count, ",[{")) > _VALUES:
        raise LoadError(file.entry.source, f"more than {_VALUES:,} values", kind="limits")
    try:
        members = _members(text) if text.lstrip().startswith("[") else None
        value = None if members is not None else _parse(text)
    except _RowError as error:
        raise LoadError(file.entry.source, str(error)) from error
    if members is not None:
        for number, (item, span) in enumerate(members, 1):
            yield row_document(file, number, item, options, span)
        return
    row = row_document(file, None, value, options)
    if isinstance(row, Skipped):
        raise LoadError(file.entry.source, row.reason)
    row.metadata.update(metadata)
    yield row


def load_parquet(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield a document per row. Dates and other values that JSON lacks are texts; bytes are left out."""
    with requires("pyarrow", "cluster", "reading Parquet"):
        from pyarrow import ArrowException, parquet
    number = 0
    try:
        for batch in parquet.ParquetFile(file.stream).iter_batches(_TOGETHER):
            for row in batch.to_pylist():
                number += 1
                cells = {name: value for name, value in row.items() if not isinstance(value, bytes)}
                plain = json.loads(json.dumps(cells, default=str), parse_constant=lambda name: None)
                yield row_document(file, number, plain, options, None)
    except (ArrowException, OSError) as error:
        raise LoadError(file.entry.source, f"not Parquet: {str(error).partition(chr(10))[0]}") from error


def _check_rows(file: FileBytes, options: ReadOptions) -> bool:
    """Return whether rows hold numbers alone, so that only the names of their fields are worth reading."""
    if options.all or options.text_fields or options.metadata_fields:
        return False
    file.stream.seek(0)
    why = why_no_rows(file.stream.read(SAMPLE_OF_ROWS), file.kind)
    file.stream.seek(0)
    if why and why != NUMBERS:
        raise LoadError(file.entry.source, f"{why}; --all reads it", kind="no prose")
    return bool(why)


def _text_lines(file: FileBytes, options: ReadOptions) -> Iterator[str]:
    """Yield lines, decoded one by one.

    A line over the limit is never read whole: `_TOO_LONG` is yielded instead, followed by a quotation mark if the
    line has an odd number of them.
    """
    wide = marked_encoding(file.head) not in (None, "utf-8-sig") or b"\0" in file.head
    if wide or (b"\r" in file.head and b"\n" not in file.head):
        if file.entry.size > options.max_bytes:
            why = "UTF-16" if wide else "its lines end in carriage returns alone"
            raise LoadError(file.entry.source, f"{why} and too large to convert")
        yield from io.StringIO(file.text()[0])
        return
    file.stream.seek(len(codecs.BOM_UTF8) if file.head.startswith(codecs.BOM_UTF8) else 0)
    limit = options.max_row_bytes
    encoding: str | None = None
    while line := file.stream.readline(limit + 1):
        if len(line) > limit and not line.endswith(b"\n"):
            quotes = line.count(b'"')
            while (line_rest := file.stream.readline(1 << 20)) and not line_rest.endswith(b"\n"):
                if b"\0" in line_rest:  # such as the hole of a sparse file, which may have exabytes
                    raise LoadError(file.entry.source, "binary", kind="binary")
                quotes += line_rest.count(b'"')
            quotes += line_rest.count(b'"')
            yield _TOO_LONG + '"' * (quotes % 2)
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            if not encoding:  # guessed from this line and those in the next 256 KiB that are not UTF-8
                place = file.stream.tell()
                ahead = file.stream.read(_AHEAD)
                file.stream.seek(place)
                full_lines = ahead if len(ahead) < _AHEAD else ahead[: ahead.rfind(b"\n") + 1]
                lines = [line, *full_lines.splitlines(keepends=True)]
                _, guess = decode(
                    b"".join(one for one in lines if one.decode("utf-8", "ignore").encode() != one)
                )
                encoding = guess.partition(" ")[0]
            text = line.decode(encoding, "replace")
        yield text[:-2] + "\n" if text.endswith("\r\n") else text


def _parse(text: str) -> Any:
    with _json_errors():
        return _JSON.decode(text)


def _members(text: str) -> list[tuple[Any, tuple[int, int]]]:
    """Return the members of a JSON list, each with its first and last line."""
    members: list[tuple[Any, tuple[int, int]]] = []
    line, counted_to = 1, 0
    place = _after_blanks(text, text.index("[") + 1)
    mark = "," if text[place : place + 1] != "]" else "]"
    with _json_errors():
        while mark == ",":
            value, end = _JSON.raw_decode(text, place)
            line += text.count("\n", counted_to, place)
            members.append((value, (line, line + text.count("\n", place, end))))
            counted_to = place
            place = _after_blanks(text, end)
            mark = text[place : place + 1]
            if mark == ",":
                place = _after_blanks(text, place + 1)
        if mark != "]" or _after_blanks(text, place + 1) != len(text):
            raise json.JSONDecodeError("Expecting ',' or the end", text, place)
    return members


def _after_blanks(text: str, place: int) -> int:
    match = _blanks.match(text, place)
    return match.end() if match else place


@contextmanager
def _json_errors() -> Iterator[None]:
    """Raise JSON's errors as row errors with a readable reason."""
    try:
        yield
    except RecursionError:
        raise _RowError("nested too deeply") from None
    except json.JSONDecodeError as error:
        raise _RowError(f"not JSON: {error}") from None
    except ValueError:  # Python's limit of digits, whose message addresses programmers
        raise _RowError("not JSON: a number of too many digits") from None


def _delimiter(head: bytes) -> tuple[str, bool]:
    """Return the delimiter, and whether a line such as `sep=;` states it, as spreadsheets write it.

    Otherwise it is the commonest of comma, semicolon, tab and bar in the first line with text, outside quotes.
    """
    text = head.decode(marked_encoding(head) or "latin-1", "replace").replace("\0", "").replace("\r", "\n")
    if match := _separator.match(text):
        return match[1], True
    lines = _quoted_cell.sub("", text).split("\n")
    line = next((line for line in lines if line.strip()), "")
    return max(_DELIMITERS, key=line.count), False


def _names(values: list[str]) -> list[str]:
    """Return field names: a blank name becomes its position, and a repeated name gets its position appended."""
    names: list[str] = []
    used_names: set[str] = set()
    for position, value in enumerate(values, 1):
        name = value.strip().removeprefix("\ufeff") or f"field {position}"
        names.append(f"{name} {position}" if name in used_names else name)
        used_names.add(names[-1])
    return names


def _skipped(file: FileBytes, number: int, reason: str) -> Skipped:
    return Skipped(f"{file.entry.source}#{number}", reason, "row")


def row_document(
    file: FileBytes, number: int | None, value: Any, options: ReadOptions, span: tuple[int, int] | None = None
) -> Document | Skipped:
    """Return the document of a row.

    Args:
        number: of the row, from 1; None if the whole file is one document, which then has no lines either.
        value: cells by name, or what JSON holds.
        span: its first and last line; None to name no lines.
    """
    try:
        is_json = file.kind not in ("csv", "tsv")
        fields = _fields(value) if is_json else value
        text = _text(fields, options)
        metadata = _metadata(fields, options, file.columns, is_json=is_json)
    except _RowError as error:
        return _skipped(file, number or 1, str(error))
    if _surrogate.search(text):
        return _skipped(file, number or 1, "holds a lone surrogate, which is no text")
    if number is not None:
        lines = dict(zip(("start_line", "end_line"), span, strict=True)) if span and not file.depth else {}
        metadata = {"source": f"{file.entry.source}#{number}", "row": number, **lines, **metadata}
    id = None
    if options.id_field is not None:
        id = _as_text(fields.get(options.id_field)) or None
    return Document(text, metadata, id=id)


def _fields(value: Any) -> dict[str, Any]:
    """Return the fields of a JSON row, by their path."""
    fields = dict(islice(_flat(value), _FIELDS + 1))
    if len(fields) > _FIELDS:
        raise _RowError(_TOO_MANY)
    return fields


def _flat(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield fields of nested objects by their path; a list of plain values is one field."""
    if depth > _DEPTH:
        raise _RowError("nested too deeply")
    if len(prefix) > _NAME:
        raise _RowError(_LONG_NAME)
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
    """Join the chosen fields with blank lines; without a choice, all fields with text as `key: value` lines."""
    if options.text_fields:
        texts = (_as_text(fields.get(name)) for name in options.text_fields)
        text = "\n\n".join(filter(None, texts))
    else:
        left_out = {*options.metadata_fields, options.id_field}
        pairs = ((name, _as_text(value)) for name, value in fields.items() if name not in left_out)
        text = "\n".join(f"{name}: {value}" if name else value for name, value in pairs if value)
    if not text:
        raise _RowError("no text in its fields")
    return text


def _metadata(
    fields: Mapping[str, Any], options: ReadOptions, columns: set[str], *, is_json: bool
) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name in options.metadata_fields:
        value = fields.get(name) if is_json else _typed(fields.get(name))
        if isinstance(value, int) and not fits_int64(value):
            raise _RowError(f"{name} must fit in 64 bits to be metadata")
        if value is not None and value != "":
            metadata[name] = value
    if not options.metadata_fields:
        texts = options.text_fields
        for name, cell in fields.items():
            if name not in texts and name != options.id_field and _is_column(name, columns):
                value = cell if is_json else _typed(cell)
                if _is_label(value):
                    metadata[name] = value
    candidates = (options.title_field,) if options.title_field else _TITLES
    title = next((_as_text(fields[name]) for name in candidates if name in fields), "")
    if title:
        metadata["title"] = title
    return metadata


def _is_column(name: str, columns: set[str]) -> bool:
    """Return whether a field becomes metadata without being chosen, as the first hundred of a file do."""
    if name in columns:
        return True
    if len(columns) == _COLUMNS or name in _OTHERS or not name.strip() or _surrogate.search(name):
        return False
    columns.add(name)
    return True


def _is_label(value: Any) -> bool:
    """Return whether a value is worth comparing: a number, a truth, or a short text that is not blank."""
    if isinstance(value, int):
        return fits_int64(value)
    if isinstance(value, str):
        return 0 < len(value) <= _LABEL and not value.isspace() and not _surrogate.search(value)
    if isinstance(value, list):
        return 0 < len(value) <= _LABEL and all(map(_is_label, value)) and len(_as_text(value)) <= _LABEL
    return isinstance(value, float)


def _typed(value: str | None) -> str | int | float | None:
    """Return the number or truth in a cell; the cell itself if it is not written as one."""
    if value in _TRUTHS:
        return _TRUTHS[value]
    match = _number.fullmatch(value.strip()) if value else None
    if match is None or match[0] == "-0":
        return value
    return float(match[0]) if match[1] else int(match[0])
