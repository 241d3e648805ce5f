"""Loads one file: chooses the loader by its name, else by its first bytes, and loads the files inside it, too.

Files inside files are members of archives and attachments of mail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, lru_cache
from io import BytesIO
from time import gmtime
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from sleuth import platform
from sleuth.errors import ArgumentError, LoadError, MissingPackageError
from sleuth.extensions import loaded, named_object
from sleuth.files import FileFormat, decode
from sleuth.files.encodings import is_binary
from sleuth.files.format import Loader
from sleuth.files.formats import BUILT_IN, ROWS, kind_of_content, kind_of_name
from sleuth.ingest.loaders.apart import LARGE, MANY_VALUES, SMALL_PAGE, FileProcesses
from sleuth.ingest.options import DEFAULT, ReadOptions
from sleuth.ingest.prose import why_left_out, why_no_prose, without_base64, without_dumps, words_of_tables
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.ingest.roots import printable
from sleuth.types import Document

if TYPE_CHECKING:
    from sleuth.ingest.validate import PreparedDocument

HEAD_BYTES: Final = 8 << 10
"""Bytes that decide the kind of a file."""
MOST_MEMBERS: Final = 10_000
"""Members of one file that are read, those of files inside it included."""
_DEPTH: Final = 3
"""Files inside files that are read: a mail in an archive in a mail."""
_FIRST_SECOND: Final = -62_135_596_800
"""Of the year 1, counted from 1970; the next is the last one of the year 9999."""
_LAST_SECOND: Final = 253_402_300_799
_SPREADSHEETS: Final = frozenset({"xlsx", "ods"})
MOST_DOCUMENTS: Final = 10_000
"""Documents that a file of few bytes may hold, as many as it may have members; each further byte allows another one,
since a row of CSV has two. Columns of Parquet repeat a value in no bytes."""
TEXT_PER_BYTE: Final = 20
"""Characters of text for each byte of a file that holds more than `max_unpacked_bytes`: logs shrink to a twentieth."""


@cache
def _installed() -> tuple[FileFormat, ...]:
    """Return the formats of installed packages."""
    return tuple(loaded("loaders", FileFormat, own=False))


@lru_cache(maxsize=8)
def _by_kind(loaders: tuple[FileFormat, ...]) -> Mapping[str, FileFormat]:
    """Return the format of each kind: the caller's, else an installed package's, else the built-in one."""
    return BUILT_IN | {one.kind: one for one in reversed((*loaders, *_installed()))}


def kind_of(name: str, head: bytes = b"", loaders: Sequence[FileFormat] = ()) -> str:
    """Return the kind of a file with this name that starts with these bytes.

    Args:
        loaders: those of `ReadOptions`.
    """
    formats = (*loaders, *_installed())
    for one in formats:
        if one.has_name(name):
            return one.kind
    if kind := kind_of_name(name):
        return kind
    sniffed = (one.kind for one in formats if one.sniff is not None and one.sniff(head))
    return next(sniffed, "") or (kind_of_content(head) if head else "text")


def is_built_in(kind: str, loaders: Sequence[FileFormat] = ()) -> bool:
    """Return whether a built-in loader reads files of this kind."""
    return _by_kind(tuple(loaders)).get(kind) is BUILT_IN.get(kind)


def has_lines(kind: str, loaders: Sequence[FileFormat] = ()) -> bool:
    """Return whether the lines of a text of this kind are those of its file; also of a kind that no format has."""
    one = _by_kind(tuple(loaders)).get(kind)
    return one is None or one.has_lines


@lru_cache(maxsize=64)
def loader_of(kind: str, loaders: tuple[FileFormat, ...] = ()) -> Loader:
    """Return what reads files of a kind; a built-in loader is imported now."""
    load = _by_kind(loaders).get(kind, BUILT_IN["text"]).load
    loader: Loader = named_object(load, "sleuth.ingest.loaders") if isinstance(load, str) else load
    return loader


@dataclass(slots=True)
class Room:
    """What a file may still unpack, shared by all files inside it.

    Attributes:
        bytes: that members may still have together.
        members: that may still be read.
    """

    bytes: int
    members: int = MOST_MEMBERS


@dataclass(slots=True)
class FileBytes:
    """An open file that a loader reads.

    Attributes:
        entry: its path, size and time.
        stream: its bytes, open at the start.
        head: its first 8 KiB.
        kind: such as "markdown" or "python"; becomes `metadata["type"]`.
        processes: read costly files; None in such a process.
        room: what it may still unpack, shared with the files that it is inside.
        depth: number of files that this one is inside.
        columns: names of the fields of rows that became metadata without being chosen.
    """

    entry: FileEntry
    stream: BinaryIO
    head: bytes
    kind: str
    processes: FileProcesses | None
    room: Room
    depth: int = 0
    columns: set[str] = field(default_factory=set)

    def read(self) -> bytes:
        """Return all bytes."""
        if len(self.head) < HEAD_BYTES:
            return self.head
        self.stream.seek(0)
        return self.stream.read()

    def text(self, declared: str | None = None) -> tuple[str, dict[str, Any]]:
        """Return the text, and its encoding as metadata unless that is UTF-8. Raises LoadError for binary files."""
        if is_binary(self.head):
            raise LoadError(self.entry.source, "binary", kind="binary")
        text, encoding = decode(self.read(), declared)
        return text, ({} if encoding == "utf-8" else {"encoding": encoding})


def open_file(entry: FileEntry) -> BinaryIO:
    """Open a file for reading, without blocking if a pipe has replaced it meanwhile."""
    try:
        handle = platform.open_plain(entry.file, follow=True)
    except platform.UnplainError as error:
        raise LoadError(entry.source, "not a file any more") from error
    return open(handle, "rb", HEAD_BYTES)  # noqa: PTH123  # a descriptor


def load(
    entry: FileEntry, options: ReadOptions = DEFAULT, processes: FileProcesses | None = None
) -> Iterator[PreparedDocument | Skipped]:
    """Yield the documents of one file, as the index keeps them. Raises LoadError, MissingPackageError or OSError."""
    from sleuth.ingest.validate import prepare, with_language

    with ExitStack() as stack:
        stream = stack.enter_context(open_file(entry))
        if processes is None:
            processes = stack.enter_context(FileProcesses(options.max_seconds, options.max_memory_bytes))
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        kind = entry.kind or kind_of(entry.source, head, options.loaders)
        file = FileBytes(entry, stream, head, kind, processes, Room(options.max_unpacked_bytes))
        common = common_metadata(entry, kind)
        built_in = is_built_in(kind, options.loaders)
        judged = built_in and not options.all
        if judged and (why := why_left_out(entry.source, kind)):
            raise LoadError(entry.source, f"{why}; --all reads it", kind="no prose")
        if built_in and _is_read_apart(file):
            BUILT_IN[kind].check_installed()
            items: Iterable[Any] = processes.load(entry, kind, options)
        else:
            items = loader_of(kind, tuple(options.loaders))(file, options)
        documents = MOST_DOCUMENTS + entry.size
        characters = max(options.max_unpacked_bytes, TEXT_PER_BYTE * entry.size)
        for item in items:
            if isinstance(item, Document):
                documents -= 1
                characters -= len(item.page_content)
                if documents < 0 or characters < 0:
                    reason = f"holds too many documents or too much text for its {entry.size:,} bytes"
                    raise LoadError(entry.source, reason, kind="limits")
                if judged:
                    item = as_prose(item, entry.source, kind)  # noqa: PLW2901 - the same document
                item.metadata = {**common, **item.metadata, **options.metadata, **(entry.metadata or {})}
                try:
                    item = prepare(with_language(item, options.language))  # noqa: PLW2901
                except ArgumentError as error:
                    if "row" not in item.metadata:
                        raise LoadError(entry.source, str(error)) from error
                    item = Skipped(f"{entry.source}#{item.metadata['row']}", str(error), "row")  # noqa: PLW2901
            yield item


def as_prose(document: Document, file: str, kind: str) -> Document:
    """Return a document without base64 and without pages of numbers or signs.

    Raises:
        LoadError: the document is no prose, and not one row or member of many.
    """
    if "row" not in document.metadata and "member" not in document.metadata:
        if why := why_no_prose(document.page_content, kind):
            if kind in _SPREADSHEETS and any(
                map(str.isalpha, text := words_of_tables(document.page_content))
            ):
                return Document(text, document.metadata, id=document.id)
            raise LoadError(file, f"{why}; --all reads it", kind="no prose")
        text = without_dumps(without_base64(document.page_content))
        if text != document.page_content:
            return Document(text, document.metadata, id=document.id)
    return document


def _is_read_apart(file: FileBytes) -> bool:
    """Return whether a process reads a file: its text is extracted, it holds others, or has many bytes or values."""
    if BUILT_IN[file.kind].extract:
        return file.kind != "pdf" and (file.kind != "html" or file.entry.size > SMALL_PAGE)
    if BUILT_IN[file.kind].holds_files or file.entry.size > LARGE:
        return True
    if file.kind not in ROWS or file.kind == "parquet" or file.entry.size <= MANY_VALUES:
        return False
    content = file.stream.read(LARGE)
    file.stream.seek(0)
    return content.count(b"\n") + content.count(b",") > MANY_VALUES


def load_here(entry: FileEntry, kind: str, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of one file as its loader makes them, all in this process. Raises as `load`."""
    with open_file(entry) as stream:
        head = stream.read(HEAD_BYTES)
        stream.seek(0)
        file = FileBytes(entry, stream, head, kind, None, Room(options.max_unpacked_bytes))
        yield from loader_of(kind)(file, options)


class Member(NamedTuple):
    """A file inside a file.

    Attributes:
        name: its path there.
        kind: "" to tell it from the name and the first bytes.
    """

    name: str
    data: bytes
    modified_ns: int = 0
    kind: str = ""


def skipped_member(file: FileBytes, name: str, reason: str) -> Skipped:
    return Skipped(f"{file.entry.source}#{printable(name)}", reason, "member")


def load_member(file: FileBytes, member: Member, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of a file inside a file; `metadata["member"]` is its path in the outermost one.

    Raises:
        LoadError: the outermost file holds too many members, or unpacks to too many bytes.
    """
    room = file.room
    room.bytes -= len(member.data)
    room.members -= 1
    if room.members < 0:
        raise LoadError(file.entry.source, f"holds more than {MOST_MEMBERS:,} files", kind="limits")
    if room.bytes < 0:
        reason = f"unpacks to more than {options.max_unpacked_bytes:,} bytes"
        raise LoadError(file.entry.source, reason, kind="limits")
    name = printable(member.name)
    if file.depth >= _DEPTH:
        yield skipped_member(file, name, f"more than {_DEPTH} files inside each other")
        return
    entry = FileEntry(
        file.entry.file,
        f"{file.entry.source}#{name}",
        len(member.data),
        member.modified_ns or file.entry.modified_ns,
    )
    head, stream = member.data[:HEAD_BYTES], BytesIO(member.data)
    kind = member.kind or kind_of(name, head, options.loaders)
    if not options.all and (why := why_left_out(name, kind)):
        yield skipped_member(file, name, f"{why}; --all reads it")
        return
    inner = FileBytes(entry, stream, head, kind, None, room, file.depth + 1)
    common = common_metadata(entry, kind)
    del common["path"]  # as it is that of the outermost file
    try:
        for item in loader_of(kind, tuple(options.loaders))(inner, options):
            if isinstance(item, Document):
                document = item if options.all else as_prose(item, entry.source, kind)
                inside = document.metadata.get("member")
                metadata = {**common, **document.metadata, "member": f"{name}#{inside}" if inside else name}
                yield Document(document.page_content, metadata, id=document.id)
            else:
                yield item
    except LoadError as error:
        if room.members < 0 or room.bytes < 0:
            raise
        yield skipped_member(file, name, error.reason)
    except MissingPackageError as error:
        yield skipped_member(file, name, str(error))


def common_metadata(entry: FileEntry, kind: str) -> dict[str, Any]:
    """Return the metadata that all documents have."""
    name = entry.source.rstrip("/").rpartition("/")[2]
    modified = {} if entry.modified_ns is None else {"modified": iso_time(entry.modified_ns)}
    return {
        "source": entry.source,
        "path": entry.source,
        "title": name.rpartition(".")[0] or name,
        **modified,
        "size": entry.size,
        "type": kind,
    }


def iso_time(nanoseconds: int) -> str:
    """Return a time in ISO 8601, UTC, to the second; years outside 1 to 9999 become the nearest of them."""
    seconds = nanoseconds // 1_000_000_000
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        return f"{'9999' if seconds > 0 else '0001'}-01-01T00:00:00Z"
    year, month, day, hour, minute, second, *_ = gmtime(seconds)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
