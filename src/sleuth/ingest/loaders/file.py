"""An open file on its way through a loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from sleuth.errors import LoadError
from sleuth.files.encodings import decode, is_binary
from sleuth.ingest.extraction.processes import Extractors
from sleuth.ingest.extraction.result import Extracted
from sleuth.ingest.extraction.worker import extract
from sleuth.ingest.reports import FileEntry

_SMALL_PAGE: Final = 8 << 10
"""Bytes of HTML that are read in this process: elements opened again in each paragraph make at most 100 MB of them."""


@dataclass(slots=True)
class FileBytes:
    """An open file on its way through a loader.

    Attributes:
        entry: where it is.
        stream: its bytes, open at the start.
        head: its first 8 KiB.
        kind: what it was taken for, such as "markdown" or "python": becomes `metadata["type"]`.
        extractors: the processes that take files apart.
    """

    entry: FileEntry
    stream: BinaryIO
    head: bytes
    kind: str
    extractors: Extractors

    def read(self) -> bytes:
        """All bytes."""
        self.stream.seek(0)
        return self.stream.read()

    def text(self, declared: str | None = None) -> tuple[str, dict[str, Any]]:
        """The text and, where it is not UTF-8, the encoding as metadata. Raises LoadError for binary files."""
        if is_binary(self.head):
            raise LoadError(self.entry.source, "binary", kind="binary")
        text, encoding = decode(self.read(), declared)
        return text, ({} if encoding == "utf-8" else {"encoding": encoding})

    def extract(self, kind: str, data: bytes, limit: int) -> Extracted:
        """Take a PDF, Word or HTML file apart, in another process unless it is small and simple.

        Args:
            kind: "pdf", "docx" or "html"; that of "html" is UTF-8.
            data: all of it.
            limit: bytes that it may unpack to, and characters of text at most.

        Raises:
            ExtractionError: says why there is no text.
        """
        if kind == "html" and len(data) <= _SMALL_PAGE:
            return extract(kind, data, limit)
        return self.extractors.extract(kind, data, limit)
