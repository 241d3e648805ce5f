"""Loads the files inside a file, such as members of archives and attachments of mail, each as documents of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.file import HEAD_BYTES, MOST_MEMBERS, FileBytes, Room
from sleuth.ingest.names import printable
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.types import Document

_DEPTH: Final = 3
"""Files inside files that are read: a mail in an archive in a mail."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside a file.

    Attributes:
        name: its path there.
        kind: "" to tell it from the name and the first bytes.
    """

    name: str
    data: bytes
    modified_ns: int = 0
    kind: str = ""


def room_of(file: FileBytes, options: ReadOptions) -> Room:
    """Return what a file, or the file it is inside, may still unpack."""
    if file.room is None:
        file.room = Room(options.max_unpacked_bytes)
    return file.room


def skipped_member(file: FileBytes, name: str, reason: str) -> Skipped:
    return Skipped(f"{file.entry.source}#{printable(name)}", reason, "member")


def load_member(file: FileBytes, member: Member, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the documents of a file inside a file; `metadata["member"]` is its path in the outermost one.

    Raises:
        LoadError: the outermost file holds too many members, or unpacks to too many bytes.
    """
    room = room_of(file, options)
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
    inner = FileBytes(entry, stream, head, member.kind, None, file.load_inside, file.depth + 1, room)
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
