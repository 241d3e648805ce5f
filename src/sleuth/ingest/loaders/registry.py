"""Chooses the loader of a file by its name, else by its first bytes; plugins register their own."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from typing import Any, BinaryIO, Final, TypeAlias

from sleuth.errors import ArgumentError, LoadError
from sleuth.files import kind_of_first_line, kind_of_name
from sleuth.ingest.extraction.processes import Extractors
from sleuth.ingest.extraction.worker import KINDS
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.large import LARGE, MANY_VALUES, load_large
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.types import Document

Loader: TypeAlias = Callable[[FileBytes, ReadOptions], Iterable[Document | Skipped]]
"""Yields documents with their own `title` and other metadata; `load` adds the metadata that all files have.

Raises LoadError if the file cannot be read, MissingPackageError if a package is missing. A row that cannot be read is
yielded as `Skipped`."""

_LOADERS: Final = {
    "text": "plain:load_text",
    "markdown": "plain:load_markdown",
    "rst": "plain:load_rest",
    "asciidoc": "plain:load_text",
    "code": "plain:load_code",
    "html": "extracted:load_html",
    "csv": "rows:load_csv",
    "tsv": "rows:load_csv",
    "json": "rows:load_json",
    "jsonl": "rows:load_jsonl",
    "parquet": "parquet:load_parquet",
}
_BUILT_IN: Final = {**dict.fromkeys(KINDS, "extracted:load_extracted"), **_LOADERS}
_ROWS: Final = frozenset({"csv", "tsv", "json", "jsonl"})
_HEAD_BYTES: Final = 8 << 10
_plugins: dict[str, Loader] = {}
_plugin_extensions: dict[str, str] = {}
_plugin_magic: list[tuple[Callable[[bytes], bool], str]] = []


def register_loader(
    kind: str,
    loader: Loader,
    *,
    extensions: Sequence[str] = (),
    sniff: Callable[[bytes], bool] | None = None,
) -> None:
    """Register `loader` for files of `kind`, in place of an earlier one.

    Args:
        extensions: such as ".tex"; they take precedence over built-in ones.
        sniff: returns from the first 8 KiB whether a file without a known extension is of this kind.
    """
    for extension in extensions:
        if not extension.startswith("."):
            raise ArgumentError(f"extensions must start with a dot, got {extension!r}")
        _plugin_extensions[extension.lower()] = kind
    if sniff is not None:
        _plugin_magic.append((sniff, kind))
    _plugins[kind] = loader


def kind_of(name: str, head: bytes = b"") -> str:
    """Return the kind of a file with this name that starts with these bytes."""
    base = name.rpartition("/")[2]
    extension = os.path.splitext(base)[1].lower()  # noqa: PTH122  # called for every file
    return _plugin_extensions.get(extension) or kind_of_name(base) or _sniffed(head)


def is_built_in(kind: str) -> bool:
    """Return whether a built-in loader reads files of this kind, not a plugin's."""
    return kind not in _plugins


def _sniffed(head: bytes) -> str:
    for sniff, kind in _plugin_magic:
        if sniff(head):
            return kind
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return _zipped(head)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "html"
    return kind_of_first_line(start) or "text"


_ZIPPED: Final = (
    (b"word/", "docx"),
    (b"ppt/", "pptx"),
    (b"xl/", "xlsx"),
    (b"application/epub+zip", "epub"),
    (b"opendocument.text", "odt"),
    (b"opendocument.spreadsheet", "ods"),
    (b"opendocument.presentation", "odp"),
)
"""What the first members of documents that are zip archives are named or say, with their kinds."""


def _zipped(head: bytes) -> str:
    return next((kind for mark, kind in _ZIPPED if mark in head), "text")


def _loader(kind: str) -> Loader:
    if kind in _plugins:
        return _plugins[kind]
    module, _, name = _BUILT_IN.get(kind, _BUILT_IN["code"]).partition(":")
    loader: Loader = getattr(import_module(f"sleuth.ingest.loaders.{module}"), name)
    return loader


def open_file(entry: FileEntry) -> BinaryIO:
    """Open a file for reading, without blocking if a pipe has replaced it meanwhile."""
    handle = os.open(entry.file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise LoadError(entry.source, "not a file any more")
    return open(handle, "rb")  # noqa: PTH123  # a descriptor


def load(
    entry: FileEntry, options: ReadOptions = DEFAULT, extractors: Extractors | None = None
) -> Iterator[Document | Skipped]:
    """Yield the documents of one file, with all their metadata. Raises LoadError, MissingPackageError or OSError."""
    own = Extractors(options.max_seconds, options.max_memory_bytes)  # starts no process before it is used
    with closing(own), open_file(entry) as stream:
        head = stream.read(_HEAD_BYTES)
        stream.seek(0)
        file = FileBytes(entry, stream, head, kind_of(entry.source, head), extractors or own)
        common = _common(entry, file.kind)
        loader = load_large if is_built_in(file.kind) and _is_large(file) else _loader(file.kind)
        for item in loader(file, options):
            if isinstance(item, Document):
                item.metadata = {**common, **item.metadata, **options.metadata}
                yield _checked(item, entry.source)
            else:
                yield item


def _is_large(file: FileBytes) -> bool:
    """Return whether a file of text or rows is read by a process: it has many bytes, or many values in fewer."""
    if file.kind in KINDS:
        return False
    if file.entry.size > LARGE:
        return True
    if file.kind not in _ROWS or file.entry.size <= MANY_VALUES:
        return False
    content = file.stream.read(LARGE)
    file.stream.seek(0)
    return content.count(b"\n") + content.count(b",") > MANY_VALUES


def load_here(entry: FileEntry, kind: str, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of one file as its loader makes them. Raises as `load`."""
    with (
        closing(Extractors(options.max_seconds, options.max_memory_bytes)) as own,
        open_file(entry) as stream,
    ):
        head = stream.read(_HEAD_BYTES)
        stream.seek(0)
        yield from _loader(kind)(FileBytes(entry, stream, head, kind, own), options)


def _checked(document: Document, file: str) -> Document | Skipped:
    """Return the document, or a `Skipped` with the reason if it is a row that the index cannot keep."""
    from sleuth.ingest.validate import check

    try:
        check(document)
    except ArgumentError as error:
        if "row" not in document.metadata:
            raise LoadError(file, str(error)) from error
        return Skipped(f"{file}#{document.metadata['row']}", str(error), "row")
    return document


def _common(entry: FileEntry, kind: str) -> dict[str, Any]:
    name = entry.source.rpartition("/")[2]
    return {
        "source": entry.source,
        "path": entry.source,
        "title": name.rpartition(".")[0] or name,
        "modified": iso_time(entry.modified_ns),
        "size": entry.size,
        "type": kind,
    }


def iso_time(nanoseconds: int) -> str:
    """Return a time in ISO 8601, UTC, to the second; years outside 1 to 9999 become the nearest of them."""
    from datetime import UTC, datetime, timedelta

    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    try:
        time = epoch + timedelta(seconds=nanoseconds // 1_000_000_000)
    except OverflowError:
        time = datetime(9999 if nanoseconds > 0 else 1, 1, 1, tzinfo=UTC)
    return time.replace(tzinfo=None, microsecond=0).isoformat() + "Z"
