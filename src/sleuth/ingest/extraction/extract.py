"""Extracts the text of a file by the reader of its kind, in this process."""

from __future__ import annotations

from collections.abc import Callable

from sleuth.extensions import named_object
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.extraction.result import Extracted, ExtractionError


def extract(kind: str, data: bytes, limit: int) -> Extracted:
    """Extract the text of a file.

    Args:
        kind: a built-in format with `extract`; data of "html" is UTF-8.
        data: all of the file.
        limit: most bytes of an unpacked archive, and most characters of text.

    Raises:
        ExtractionError: no text; the message says why.
    """
    reader: Callable[[bytes, int], Extracted] = named_object(
        BUILT_IN[kind].extract, "sleuth.ingest.extraction"
    )
    try:
        return reader(data, limit)
    except RecursionError:
        raise ExtractionError("nested too deeply", limit=True) from None
