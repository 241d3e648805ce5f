"""Extracts text from PDF files, titled by the title in their metadata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from sleuth.ingest.extraction.result import Extracted, ExtractionError, within

if TYPE_CHECKING:
    import pypdfium2

_REASONS: Final = {
    3: "not a PDF, or damaged",
    4: "protected by a password",
    5: "protected in a way not supported",
}
"""Keys are the error codes of PDFium, `fpdfview.h`."""

_hyphen_at_line_end = re.compile(r"(?<=\w)[\ufffe\x02\xad]\s?\n?(?=\w)")


def extract_pdf(data: bytes, limit: int) -> Extracted:
    """Extract the text of all pages, separated by form feeds.

    Args:
        data: the file.
        limit: most characters of text.
    """
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None) or 0
        raise ExtractionError(_REASONS.get(code, f"not readable as PDF: {error}")) from error
    try:
        pages: list[str] = []
        length = 0
        for number in range(len(pdf)):
            pages.append(_page(pdf, number))
            length += len(pages[-1]) + 1
            if length > limit:
                break
        title, metadata = _about(pdf)
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"damaged: {error}") from error
    finally:
        pdf.close()
    text = within("\f".join(pages), limit)
    if not text.strip():
        raise ExtractionError("no text in its pages: scanned, perhaps")
    return Extracted(text, title, metadata)


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


def _about(pdf: pypdfium2.PdfDocument) -> tuple[str, dict[str, Any]]:
    """Return the title and other facts from a PDF's metadata."""
    facts = pdf.get_metadata_dict(skip_empty=True)
    title, author = (facts.get(key, "").strip() for key in ("Title", "Author"))
    nameless = ("", "untitled", "unknown")
    metadata: dict[str, Any] = {"pages": len(pdf)}
    if author.lower() not in nameless:
        metadata["author"] = author
    return "" if title.lower() in nameless else title, metadata
