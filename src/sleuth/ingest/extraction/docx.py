"""Extracts text from Word documents, titled by their first heading of level 1. Nothing is unpacked to disk."""

from __future__ import annotations

import zipfile
from io import BytesIO

from sleuth.ingest.extraction.html import html_to_markdown
from sleuth.ingest.extraction.result import Extracted, ExtractionError, within


def extract_docx(data: bytes, limit: int) -> Extracted:
    """Extract the document as Markdown.

    Args:
        data: the file.
        limit: most bytes of the unpacked archive, and most characters of text.
    """
    import mammoth

    _check_archive(data, limit)
    try:
        image = mammoth.images.img_element(_no_image)
        html = mammoth.convert_to_html(BytesIO(data), convert_image=image).value
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # mammoth documents no exceptions: a damaged file may raise any
        raise ExtractionError(f"not readable as docx: {error!r}") from error
    title, text = html_to_markdown(html)
    if not text:
        raise ExtractionError("no text in it")
    return Extracted(within(text, limit), title)


def _no_image(image: object) -> dict[str, str]:
    return {"src": ""}


def _check_archive(data: bytes, limit: int) -> None:
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise ExtractionError(f"not readable as docx: {error}") from error
    if unpacked > limit:
        raise ExtractionError(f"unpacks to {unpacked:,} bytes, over the limit of {limit:,}", limit=True)
