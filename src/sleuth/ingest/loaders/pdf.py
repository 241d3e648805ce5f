"""Loads PDF files: one document each, whose scanned pages a program of the user's may read."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from typing import Final

from sleuth import platform
from sleuth.errors import LoadError
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.extraction.pdf import SILENT
from sleuth.ingest.loaders.extracted import extracted
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_SECONDS: Final = 120
"""Time of the program for one page."""
_MOST_BYTES: Final = 1 << 20
"""Text of one page; what is longer is cut."""
_REMEDY: Final = "--ocr COMMAND reads them"


def load_pdf(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the text of a PDF, and a `Skipped` that counts the pages without text.

    A process with limits yields the document with the pages without text in its metadata, and the program reads those.

    Raises:
        MissingPackageError: the package that reads PDF files is not installed.
        LoadError: there is no text; the message says why.
    """
    BUILT_IN[file.kind].check_installed()
    if file.processes is not None:
        (document,) = file.processes.load(file.entry, file.kind, options)
        assert isinstance(document, Document)  # noqa: S101 - as below
    else:
        document = extracted(file, file.read(), options)
        if not file.depth:
            yield document
            return
    silent: list[int] = document.metadata.pop(SILENT, [])
    why = _REMEDY
    if silent and options.ocr and file.processes is not None:
        try:
            pages, data = document.page_content.split("\f"), file.read()
            for number in silent:
                picture = file.processes.picture(file.entry.source, data, number)
                pages[number - 1] = _recognised(file.entry.source, options.ocr, picture)
            document.page_content, silent = "\f".join(pages), []
        except LoadError as error:
            why = error.reason
    if not document.page_content.strip():
        scanned = f": scanned, perhaps; {why}" if silent else ""
        raise LoadError(file.entry.source, f"no text in its pages{scanned}", kind="invalid")
    yield document
    if silent:
        of = document.metadata["pages"]
        count = "1 page holds" if len(silent) == 1 else f"{len(silent):,} pages hold"
        yield Skipped(file.entry.source, f"{count} no text, of {of:,}: scanned, perhaps; {why}", "page")


def _recognised(path: str, command: Sequence[str], picture: bytes) -> str:
    """Return the text that a program reads in a picture.

    The program is started without a shell, gets the picture on its standard input and writes UTF-8 to its standard
    output.

    Args:
        path: of the file, for errors.
        command: the program and its arguments.
        picture: as PNG.

    Raises:
        LoadError: it cannot be started, failed, or took too long.
    """
    name = command[0]
    try:
        process = platform.start_apart(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except (OSError, ValueError) as error:
        raise LoadError(path, f"{name} cannot be started: {error}") from error
    try:
        output, _ = process.communicate(picture, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise LoadError(path, f"{name} took more than {_SECONDS} s for a page") from None
    finally:
        if process.poll() is None:
            platform.end_apart(process)
            process.communicate()
    if process.returncode != 0:
        raise LoadError(path, f"{name} failed with status {process.returncode}")
    return output[:_MOST_BYTES].decode("utf-8", "replace").replace("\f", "\n").replace("\0", "").strip()
