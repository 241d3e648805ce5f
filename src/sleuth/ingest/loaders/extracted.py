"""Loaders of PDF, Word and HTML files: one document each, of the extracted text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Literal

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.extraction.result import ExtractionError
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.types import Document

_charset = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


def load_html(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the page, titled by its <title>, else by its first heading."""
    declared = _charset.search(file.head)
    text, metadata = file.text(declared.group(1).decode("ascii") if declared else None)
    yield _document(file, "html", text.encode(), metadata, options)


def load_pdf(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield all pages as one text, separated by form feeds; titled by the PDF's own title."""
    _need("pypdfium2", "pdf", "reading PDF files")
    yield _document(file, "pdf", file.read(), {}, options)


def load_docx(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the document as Markdown; titled by its first heading of level 1."""
    _need("mammoth", "office", "reading Word documents")
    yield _document(file, "docx", file.read(), {}, options)


def _need(package: str, extra: str, purpose: str) -> None:
    if find_spec(package) is None:
        raise MissingPackageError(package, extra, purpose)


def _document(
    file: FileBytes, kind: str, data: bytes, metadata: dict[str, Any], options: ReadOptions
) -> Document:
    try:
        result = file.extract(kind, data, options.max_unpacked_bytes)
    except ExtractionError as error:
        reason_kind: Literal["limits", "invalid"] = "limits" if error.limit else "invalid"
        raise LoadError(file.entry.source, str(error), kind=reason_kind) from error
    title = {"title": result.title} if result.title else {}
    return Document(result.text, {**title, **result.metadata, **metadata})
