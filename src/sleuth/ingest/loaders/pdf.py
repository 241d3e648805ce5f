"""Which text do the pages of a PDF hold?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from sleuth.errors import LoadError, MissingPackageError
from sleuth.ingest.loaders.registry import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.types import Document

if TYPE_CHECKING:
    import pypdfium2

_REASONS: Final = {
    3: "not a PDF, or damaged",
    4: "protected by a password",
    5: "protected in a way not supported",
}
"""By the error codes of PDFium, `fpdfview.h`."""

_hyphen_at_line_end = re.compile(r"(?<=\w)[\ufffe\x02\xad]\s?\n?(?=\w)")


def load_pdf(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """All pages, with a form feed between two; titled by the PDF's own title."""
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingPackageError("pypdfium2", "pdf", "reading PDF files") from error
    try:
        pdf = pypdfium2.PdfDocument(file.read())
    except pypdfium2.PdfiumError as error:
        reason = _REASONS.get(getattr(error, "err_code", None) or 0, f"not readable as PDF: {error}")
        raise LoadError(file.entry.source, reason) from error
    try:
        text = "\f".join(_page(pdf, number) for number in range(len(pdf)))
        metadata = _metadata(pdf)
    except pypdfium2.PdfiumError as error:
        raise LoadError(file.entry.source, f"damaged: {error}") from error
    finally:
        pdf.close()
    if not text.strip():
        raise LoadError(file.entry.source, "no text in its pages: scanned, perhaps")
    yield Document(text, metadata)


def _page(pdf: pypdfium2.PdfDocument, number: int) -> str:
    page = pdf[number]
    try:
        words = page.get_textpage()
        try:
            text: str = words.get_text_bounded()
        finally:
            words.close()
    finally:
        page.close()
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _hyphen_at_line_end.sub("", text).replace("\0", "")


def _metadata(pdf: pypdfium2.PdfDocument) -> dict[str, Any]:
    facts = pdf.get_metadata_dict(skip_empty=True)
    found: dict[str, Any] = {"pages": len(pdf)}
    for key in ("Title", "Author"):
        value = facts.get(key, "").strip()
        if value and value.lower() not in ("untitled", "unknown"):
            found[key.lower()] = value
    return found
