"""Extracts text from PDF files, titled by the title in their metadata, and draws their pages as pictures."""

from __future__ import annotations

import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unicodedata import normalize

from sleuth.ingest.extraction.layout import HYPHEN, Line, page_lines, paragraphs
from sleuth.ingest.extraction.running import without_running
from sleuth.ingest.extraction.text import Extracted, ExtractionError, within
from sleuth.text import clean_text

if TYPE_CHECKING:
    import pypdfium2

_REASONS: Final = {
    3: "not a PDF, or damaged",
    4: "protected by a password",
    5: "protected in a way not supported",
}
"""Keys are the error codes of PDFium, `fpdfview.h`."""
_MOST_HEADINGS: Final = 5_000
_DEEPEST: Final = 6
_NUMBERING: Final = 8
"""Letters and digits that may stand before a heading on its page, such as "Chapter 3" or "2.1"."""
SILENT: Final = "silent_pages"
"""Metadata of a PDF: numbers of the pages that have something drawn and no text, from 1."""
_MOST_DOTS: Final = 16_000_000
"""Dots of a picture at most: a page of 13 by 13 inches. Larger pages are drawn with fewer dots per inch."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES: Final = {1: 0, 3: 2}
"""Of PNG, by the bytes of a dot."""

_broken_word = re.compile(rf"(?<!\w)(\w++)(?:[{HYPHEN}\ufffe\xad]\n?|[-\u2010]\n)(?=([^\W\d_]\w*))")
_compound = re.compile(r"(?<!\w)\w++(?>(?:-\w++)+)")
_signs = re.compile(r"[\W_]+")


class _Bookmark(NamedTuple):
    level: int
    title: str


def extract_pdf(data: bytes, limit: int) -> Extracted:
    """Extract the text of all pages, separated by form feeds.

    Columns are in reading order, running heads and page numbers left out, words joined that the end of a line divides.
    Entries of the outline are headings, as in Markdown.
    """
    import pypdfium2

    pdf = opened_pdf(data)
    try:
        if pdf.get_formtype():
            pdf.init_forms()
        title, metadata = _about(pdf)
        headings = _outline(pdf)
        silent: list[int] = []
        pages = list(_read(pdf, limit, silent))
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"damaged: {error}") from error
    finally:
        pdf.close()
    if silent:
        metadata[SILENT] = silent
    texts = [
        paragraphs(_with_headings(lines, headings.get(number, ())))
        for number, lines in enumerate(without_running(pages))
    ]
    text = "\f".join(texts)
    compounds = {compound.casefold() for compound in _compound.findall(text)}

    def joined(match: re.Match[str]) -> str:
        """Return a word that the end of a line divides; it keeps its hyphen if the text has the compound elsewhere."""
        head, tail = match[1], match[2]
        stays = tail[0].isupper() or f"{head}-{tail}".casefold() in compounds
        return f"{head}-" if stays else head

    return Extracted(within(_broken_word.sub(joined, text), limit), title, metadata)


def opened_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF.

    Raises:
        ExtractionError: damaged or protected.
    """
    import pypdfium2

    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        code = getattr(error, "err_code", None) or 0
        raise ExtractionError(_REASONS.get(code, f"not readable as PDF: {error}")) from error


def _read(pdf: pypdfium2.PdfDocument, limit: int, silent: list[int]) -> Iterator[list[Line]]:
    """Yield the lines of each page; `silent` gets the numbers of pages that are drawn and hold no text."""
    length = 0
    for number in range(len(pdf)):
        page = pdf[number]
        try:
            if pdf.formenv is not None:
                page.flatten()  # what is filled in becomes text of the page
                page.close()
                page = pdf[number]
            words = page.get_textpage()
            try:
                lines = page_lines(words)
            finally:
                words.close()
            if not lines and next(page.get_objects(max_depth=1), None) is not None:
                silent.append(number + 1)
        finally:
            page.close()
        yield lines
        length += sum(len(line.text) + 1 for line in lines) + 1
        if length > limit:
            return


def _outline(pdf: pypdfium2.PdfDocument) -> dict[int, list[_Bookmark]]:
    """Return the entries of the outline by page, from 0."""
    headings: dict[int, list[_Bookmark]] = defaultdict(list)
    for bookmark in islice(pdf.get_toc(max_depth=_DEEPEST), _MOST_HEADINGS):
        title = " ".join(clean_text(bookmark.get_title()).split())
        destination = bookmark.get_dest()
        page = destination.get_index() if destination is not None else None
        if title and page is not None:
            headings[page].append(_Bookmark(bookmark.level + 1, title))
    return headings


def _with_headings(lines: Sequence[Line], headings: Sequence[_Bookmark]) -> list[Line]:
    """Return the lines of a page in which entries of the outline are headings.

    One that no line of the page says, whole or in two lines, is left out: the text says it elsewhere.
    """
    with_signs = list(lines)
    start = 0
    for heading in headings:
        title = _plain(heading.title)
        for number, length in (
            (number, length) for number in range(start, len(with_signs)) for length in (1, 2)
        ):
            text = _plain(" ".join(line.text for line in with_signs[number : number + length]))
            if title and (text == title or (text.endswith(title) and len(text) <= len(title) + _NUMBERING)):
                first = with_signs[number]
                heading_text = " ".join(line.text for line in with_signs[number : number + length])
                with_signs[number : number + length] = [
                    replace(first, text=f"{'#' * heading.level} {heading_text}")
                ]
                start = number + 1
                break
    return with_signs


def _plain(text: str) -> str:
    """Return the letters and digits of a text, to compare what is typeset with what is noted."""
    return _signs.sub("", normalize("NFKC", text)).casefold()


def _about(pdf: pypdfium2.PdfDocument) -> tuple[str, dict[str, Any]]:
    """Return the title and other facts from a PDF's metadata."""
    facts = pdf.get_metadata_dict(skip_empty=True)
    title, author = (facts.get(key, "").strip() for key in ("Title", "Author"))
    nameless = ("", "untitled", "unknown")
    metadata: dict[str, Any] = {"pages": len(pdf)}
    if author.lower() not in nameless:
        metadata["author"] = author
    return "" if title.lower() in nameless else title, metadata


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
                dots, size = bytes(bitmap.buffer), bitmap.width * bitmap.n_channels
                starts = range(0, bitmap.height * bitmap.stride, bitmap.stride)
                rows = b"".join(b"\0" + dots[start : start + size] for start in starts)
                colours = _COLOUR_TYPES[bitmap.n_channels]
                head = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, colours, 0, 0, 0)
                parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
                return _SIGNATURE + b"".join(
                    struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
                    for name, body in parts
                )
            finally:
                bitmap.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError as error:
        raise ExtractionError(f"damaged: {error}") from error
    finally:
        pdf.close()
