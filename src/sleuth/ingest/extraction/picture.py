"""Draws a page of a PDF file as a picture, for programs that recognise text and for readers."""

from __future__ import annotations

import struct
import zlib
from typing import Final

from sleuth.ingest.extraction.pdf import opened_pdf
from sleuth.ingest.extraction.result import ExtractionError

_MOST_DOTS: Final = 16_000_000
"""Dots of a picture at most: a page of 13 by 13 inches. Larger pages are drawn with fewer dots per inch."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES: Final = {1: 0, 3: 2}
"""Of PNG, by the bytes of a dot."""


def page_picture(data: bytes, number: int, dots_per_inch: int, *, colour: bool) -> bytes:
    """Draw a page as PNG, in shades of grey or in colour.

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
            scale = min(dots_per_inch, (_MOST_DOTS / inches) ** 0.5) / 72
            bitmap = page.render(scale=scale, grayscale=not colour, rev_byteorder=True, prefer_bgrx=False)
            try:
                return _png(
                    bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels
                )
            finally:
                bitmap.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"damaged: {error}") from error
    finally:
        pdf.close()


def _png(dots: bytes, width: int, height: int, stride: int, channels: int) -> bytes:
    """Return rows of dots as PNG."""
    rows = b"".join(b"\0" + dots[row * stride : row * stride + width * channels] for row in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_part(name, body) for name, body in parts)


def _part(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
