"""Extracts text from Word documents, titled by their first heading of level 1."""

from __future__ import annotations

from io import BytesIO

from sleuth.ingest.extraction.html import html_to_markdown
from sleuth.ingest.extraction.result import Extracted, ExtractionError, within
from sleuth.ingest.extraction.tables import name_columns
from sleuth.ingest.extraction.zips import opened_zip


def extract_docx(data: bytes, limit: int) -> Extracted:
    """Extract the document as Markdown.

    Args:
        data: the file.
        limit: most bytes of the unpacked archive, and most characters of text.
    """
    import mammoth

    with opened_zip(data, limit, "docx"):
        pass
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
    return Extracted(within(name_columns(text), limit), title)


def _no_image(image: object) -> dict[str, str]:
    return {"src": ""}
