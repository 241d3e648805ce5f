"""The file that a loader reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from sleuth.errors import LoadError
from sleuth.files import decode
from sleuth.files.encodings import is_binary
from sleuth.ingest.loaders.apart import FileProcesses
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.types import Document

HEAD_BYTES: Final = 8 << 10
"""Bytes that decide the kind of a file."""
MOST_MEMBERS: Final = 10_000
"""Members of one file that are read, those of files inside it included."""


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
        depth: number of files that this one is inside.
        room: what it may still unpack, shared with the files that it is inside.
        columns: names of the fields of rows that became metadata without being chosen.
    """

    entry: FileEntry
    stream: BinaryIO
    head: bytes
    kind: str
    processes: FileProcesses | None
    load_inside: Callable[[FileBytes, str, ReadOptions], Iterator[Document | Skipped]]
    depth: int = 0
    room: Room | None = None
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
