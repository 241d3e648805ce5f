"""Draws a page of a PDF file as a picture, for programs that recognise text."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from sleuth.ingest.extraction.pdf import opened_pdf
from sleuth.ingest.extraction.result import ExtractionError

_DOTS_PER_INCH: Final = 300
_MOST_DOTS: Final = 16_000_000
"""Dots of a picture at most: a page of 13 by 13 inches. Larger pages are drawn with fewer dots per inch."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def page_picture(data: bytes, number: int) -> bytes:
    """Draw a page in shades of grey, as PNG.

    Args:
        data: the PDF.
        number: of the page, from 1.

    Raises:
        ExtractionError: damaged or protected.
    """
    import pypdfium2

    pdf = opened_pdf(data)
    try:
        page = pdf[number - 1]
        try:
            width, height = page.get_size()
            inches = max(width, 1) * max(height, 1) / 72**2
            scale = min(_DOTS_PER_INCH, (_MOST_DOTS / inches) ** 0.5) / 72
            bitmap = page.render(scale=scale, grayscale=True)
            try:
                return _png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)
            finally:
                bitmap.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"damaged: {error}") from error
    finally:
        pdf.close()


def _png(dots: bytes, width: int, height: int, stride: int) -> bytes:
    """Return rows of grey dots, one byte each, as PNG.

    Args:
        stride: bytes from one row to the next.
    """
    rows = b"".join(b"\0" + dots[row * stride : row * stride + width] for row in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_part(name, body) for name, body in parts)


def _part(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
