"""Extracts text from files in processes, each under limits of time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.files.processes import ProcessEndedError, Processes
from sleuth.ingest.extraction.result import Extracted, ExtractionError


class Extractors:
    """Starts one process for each concurrent caller, and reuses it for the next file. Thread-safe.

    Args:
        seconds: of CPU for each file.
        memory: bytes that each process may take.

    Attributes:
        processes: take PDF, HTML, office and book files apart.
        readers: read large files of text and rows; see `sleuth.ingest.loaders.large`.
    """

    def __init__(self, seconds: int, memory: int) -> None:
        self.seconds = seconds
        self.memory = memory
        self.processes = Processes("sleuth.ingest.extraction.worker", memory)
        self.readers = Processes("sleuth.ingest.large_worker", memory)

    def extract(self, kind: str, data: bytes, limit: int) -> Extracted:
        """Extract the text of a file.

        Args:
            kind: a built-in format with `extract`; data of "html" is UTF-8.
            data: all of the file.
            limit: most bytes of an unpacked archive, and most characters of text.

        Raises:
            ExtractionError: no text, or a limit of time or memory exceeded; the message says which.
            ProcessStartError: no process can be started.
            TimeoutError: see `why_ended`.
        """
        head, body = self._ask({"kind": kind, "limit": limit}, data)
        return Extracted(body.decode("utf-8", "surrogatepass"), head["title"], head["metadata"])

    def picture(self, data: bytes, page: int, *, dots_per_inch: int = 300, colour: bool = False) -> bytes:
        """Draw a page of a PDF as PNG, in shades of grey or in colour.

        Args:
            data: all of the PDF.
            page: its number, from 1.

        Raises:
            ExtractionError: damaged, or a limit of time or memory exceeded; the message says which.
            ProcessStartError: no process can be started.
        """
        _, body = self._ask({"page": page, "dots_per_inch": dots_per_inch, "colour": colour}, data)
        return body

    def _ask(self, request: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            head, body = self.processes.ask(request, data, self.seconds)
        except ProcessEndedError as error:
            raise ExtractionError(self.why_ended(error), limit=True) from error
        if "error" in head:
            raise ExtractionError(head["error"], limit=head["limit"])
        return head, body

    def why_ended(self, error: ProcessEndedError) -> str:
        """Return what a file did to the process that read it.

        Raises:
            TimeoutError: nothing; the process slept or was ended from outside, and the next run tries again.
        """
        if error.limit == "outside":
            raise TimeoutError(f"its reader did not answer ({error.ending}); the next run tries again")
        if error.limit == "time":
            return f"took more than {self.seconds} s to read"
        return f"needed more than {self.memory >> 20:,} MB of memory, or crashed its reader ({error.ending})"

    def close(self) -> None:
        """End all processes, also in the middle of a file."""
        self.processes.close()
        self.readers.close()
