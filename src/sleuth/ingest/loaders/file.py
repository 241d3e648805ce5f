"""The file that a loader reads, and the files inside it: members of archives, attachments of mail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, BinaryIO, Final, NamedTuple

from sleuth.errors import LoadError, MissingPackageError
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.ingest.roots import printable
from sleuth.types import Document

HEAD_BYTES: Final = 8 << 10
"""Bytes that decide the kind of a file."""
MOST_MEMBERS: Final = 10_000
"""Members of one file that are read, those of files inside it included."""
_DEPTH: Final = 3
"""Files inside files that are read: a mail in an archive in a mail."""


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
        load_inside: yields the documents of a file inside this one, which has the name in the second argument.
        room: what it may still unpack, shared with the files that it is inside.
        depth: number of files that this one is inside.
        columns: names of the fields of rows that became metadata without being chosen.
    """

    entry: FileEntry
    stream: BinaryIO
    head: bytes
    kind: str
    processes: FileProcesses | None
    load_inside: Callable[[FileBytes, str, ReadOptions], Iterator[Document | Skipped]]
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
    inner = FileBytes(entry, stream, head, member.kind, None, file.load_inside, room, file.depth + 1)
    try:
        for item in file.load_inside(inner, name, options):
            if isinstance(item, Document):
                inside = item.metadata.get("member")
                item.metadata["member"] = f"{name}#{inside}" if inside else name
            yield item
    except LoadError as error:
        if room.members < 0 or room.bytes < 0:
            raise
        yield skipped_member(file, name, error.reason)
    except MissingPackageError as error:
        yield skipped_member(file, name, str(error))
