"""Reads large files of text and rows, unusual mail and archives in a process with limits of time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.files.processes import ProcessEndedError
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import FileEntry, Skipped
from sleuth.types import Document

LARGE: Final = 256 << 10
"""Files of more bytes are read by a process. Smaller ones are read in the program, where every step is linear: see
docs/decisions/reading-under-limits.md for what the worst of them take."""
MANY_VALUES: Final = 20_000
"""Files of rows with more line breaks and commas are read by a process too."""
_BYTES_PER_SECOND: Final = 1_000_000
"""Each second's worth of bytes gives a file another second of CPU time."""


def load_large(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield what the loader of a file yields, from a process.

    Raises:
        LoadError: the file cannot be read, or exceeds a limit; the message says which.
        ProcessStartError: no process can be started.
        TimeoutError: the process slept, or was ended from outside.
    """
    entry, extractors = file.entry, file.extractors
    assert extractors is not None  # noqa: S101 - only the program itself starts processes
    fields = {name: getattr(entry, name) for name in FileEntry.__slots__}
    request = {"entry": fields, "kind": file.kind, "options": _plain(options)}
    seconds = extractors.seconds + entry.size / _BYTES_PER_SECOND
    try:
        for head, body in extractors.readers.answers(request, b"", seconds):
            if "error" in head:
                raise LoadError(entry.source, head["error"], kind=head["kind"])
            yield from _read(head["items"], body)
    except ProcessEndedError as error:
        raise LoadError(entry.source, extractors.why_ended(error), kind="limits") from error


def _plain(options: ReadOptions) -> dict[str, Any]:
    """Return what loaders look at, as JSON."""
    names = (
        "max_bytes",
        "max_row_bytes",
        "max_unpacked_bytes",
        "hidden",
        "all",
        "text_fields",
        "metadata_fields",
        "id_field",
        "title_field",
    )
    values = {name: getattr(options, name) for name in names}
    return {
        name: value if isinstance(value, int | str | None) else list(value) for name, value in values.items()
    }


def _read(items: list[list[Any]], body: bytes) -> Iterator[Document | Skipped]:
    """Yield what a process put into an answer: documents as [bytes of text, metadata, id], rows and members as
    [path, reason, kind].
    """
    at = 0
    for first, *fields in items:
        if isinstance(first, str):
            reason, kind = fields
            yield Skipped(first, reason, kind)
        else:
            metadata, id = fields
            yield Document(body[at : at + first].decode("utf-8", "surrogatepass"), metadata, id=id)
            at += first
