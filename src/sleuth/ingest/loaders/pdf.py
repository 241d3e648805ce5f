"""Loads PDF files: one document each, whose scanned pages a program of the user's may read."""

from __future__ import annotations

from collections.abc import Iterator

from sleuth.errors import LoadError
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.extraction.pdf import SILENT
from sleuth.ingest.loaders.extracted import extracted, extracted_document
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.recognition import RecognitionError, recognise
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_REMEDY = "--ocr COMMAND reads them"


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
        document = extracted_document(extracted(file, file.read(), options))
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
                pages[number - 1] = recognise(options.ocr, picture)
            document.page_content, silent = "\f".join(pages), []
        except LoadError as error:
            why = error.reason
        except RecognitionError as error:
            why = str(error)
    if not document.page_content.strip():
        scanned = f": scanned, perhaps; {why}" if silent else ""
        raise LoadError(file.entry.source, f"no text in its pages{scanned}", kind="invalid")
    yield document
    if silent:
        of = document.metadata["pages"]
        count = "1 page holds" if len(silent) == 1 else f"{len(silent):,} pages hold"
        yield Skipped(file.entry.source, f"{count} no text, of {of:,}: scanned, perhaps; {why}", "page")
