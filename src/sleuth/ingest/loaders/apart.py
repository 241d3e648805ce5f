"""Reads files that may be costly in processes with limits of time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.files.processes import ProcessEndedError, Processes, ProcessReply
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.protocols import Closing
from sleuth.types import Document

LARGE: Final = 256 << 10
"""Files of more bytes are read by a process. Smaller ones are read in the program, where every step is linear: see
docs/decisions/reading-under-limits.md for what the worst of them take."""
SMALL_PAGE: Final = 32 << 10
"""Larger HTML pages are read in a process, and smaller ones whose elements might be opened again and again."""
DOTS_PER_INCH: Final = 300
"""Of the picture of a page: enough for programs that recognise text."""
MANY_VALUES: Final = 20_000
"""Files of rows with more line breaks and commas are read by a process too."""
_OF_LOADERS: Final = (
    "max_bytes", "max_row_bytes", "max_unpacked_bytes", "hidden", "all", "text_fields", "metadata_fields", "id_field",
    "title_field",
)  # fmt: skip
"""Options that loaders look at; each is fit for JSON."""
_BYTES_PER_SECOND: Final = 1_000_000
"""Each second's worth of bytes gives a file another second of CPU time."""


class FileProcesses(Processes, Closing):
    """Reads files in processes, one for each concurrent caller, which is reused for the next file. Thread-safe.

    Args:
        seconds: of CPU for each file; larger ones get a second more for each megabyte.
        memory: bytes that each process may take.
    """

    def __init__(self, seconds: int, memory: int) -> None:
        super().__init__("sleuth.ingest.worker", memory)
        self.seconds = seconds

    def load(self, entry: FileEntry, kind: str, options: ReadOptions) -> Iterator[Document | Skipped]:
        """Yield what the loader of a kind of files yields of a file, from a process.

        Raises:
            LoadError: the file cannot be read, or exceeds a limit; the message says which.
            ProcessStartError: no process can be started.
            TimeoutError: the process slept, or was ended from outside.
        """
        fields = {name: getattr(entry, name) for name in FileEntry.__slots__}
        values = {name: getattr(options, name) for name in _OF_LOADERS}
        request = {"entry": fields, "kind": kind, "options": values}
        for answer in self._checked_answers(entry.source, request, b"", entry.size):
            at = 0
            for first, second, third in answer.head["items"]:  # as `sleuth.ingest.worker` writes them
                if isinstance(first, str):
                    yield Skipped(first, reason=second, kind=third)
                else:
                    text = answer.body[at : at + first].decode("utf-8", "surrogatepass")
                    yield Document(text, metadata=second, id=third)
                    at += first

    def picture(
        self, path: str, data: bytes, page: int, *, dots_per_inch: int = DOTS_PER_INCH, colour: bool = False
    ) -> bytes:
        """Draw a page of a PDF as PNG, in shades of grey or in colour. Raises as `load`.

        Args:
            path: of the file, for errors.
            data: all of it.
            page: its number, from 1.
        """
        request = {"page": page, "dots_per_inch": dots_per_inch, "colour": colour}
        (answer,) = self._checked_answers(path, request, data, len(data))
        return answer.body

    def _checked_answers(
        self, path: str, request: Mapping[str, Any], data: bytes, size: int
    ) -> Iterator[ProcessReply]:
        try:
            for answer in self.answers(request, data, self.seconds + size / _BYTES_PER_SECOND):
                if "error" in answer.head:
                    raise LoadError(path, answer.head["error"], kind=answer.head["kind"])
                yield answer
        except ProcessEndedError as error:
            if error.limit == "outside":
                raise TimeoutError(
                    f"its reader did not answer ({error.ending}); the next run tries again"
                ) from error
            took_time = f"took more than {self.seconds} s to read"
            took_memory = (
                f"needed more than {self.memory >> 20:,} MB of memory, or crashed its reader ({error.ending})"
            )
            raise LoadError(
                path, took_time if error.limit == "time" else took_memory, kind="limits"
            ) from error
