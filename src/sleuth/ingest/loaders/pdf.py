"""Loads PDF files: one document each, whose scanned pages a program of the user's may read."""

from __future__ import annotations

from collections.abc import Iterator

from sleuth.errors import LoadError
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.extraction.pdf import SILENT
from sleuth.ingest.extraction.result import Extracted, ExtractionError
from sleuth.ingest.loaders.extracted import as_load_error, extracted_document
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.loaders.recognition import RecognitionError, recognise
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_REMEDY = "--ocr COMMAND reads them"


def load_pdf(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the text of a PDF, and a `Skipped` that counts the pages without text.

    Raises:
        MissingPackageError: the package that reads PDF files is not installed.
        LoadError: there is no text; the message says why.
    """
    BUILT_IN[file.kind].check_installed()
    data = file.read()
    try:
        result = file.extract("pdf", data, options.max_unpacked_bytes)
    except ExtractionError as error:
        raise as_load_error(file, error) from error
    silent: list[int] = result.metadata.pop(SILENT, [])
    why = _REMEDY
    if silent and options.ocr and file.extractors is not None:
        try:
            pages = result.text.split("\f")
            for number in silent:
                pages[number - 1] = recognise(options.ocr, file.extractors.picture(data, number))
            result, silent = Extracted("\f".join(pages), result.title, result.metadata), []
        except (ExtractionError, RecognitionError) as error:
            why = str(error)
    if not result.text.strip():
        scanned = f": scanned, perhaps; {why}" if silent else ""
        raise LoadError(file.entry.source, f"no text in its pages{scanned}", kind="invalid")
    yield extracted_document(result)
    if silent:
        of = result.metadata["pages"]
        count = "1 page holds" if len(silent) == 1 else f"{len(silent):,} pages hold"
        yield Skipped(file.entry.source, f"{count} no text, of {of:,}: scanned, perhaps; {why}", "page")
