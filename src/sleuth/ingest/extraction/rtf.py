"""Extracts text from RTF files, titled by the title in their header."""

from __future__ import annotations

import re
from collections.abc import Callable

from sleuth.ingest.extraction.result import Extracted, ExtractionError, within

_title = re.compile(r"\{\\title ([^{}]{1,500})\}")


def extract_rtf(data: bytes, limit: int) -> Extracted:
    """Extract the text of the file.

    Args:
        data: the file.
        limit: most characters of text.
    """
    from striprtf import striprtf

    plain: Callable[..., str] = striprtf.rtf_to_text
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ExtractionError("not readable as RTF: it does not start with {\\rtf")
    source = data.decode("latin-1")
    try:
        text = plain(source, errors="replace")
    except (ValueError, IndexError, LookupError) as error:
        raise ExtractionError(f"not readable as RTF: {error!r}") from error
    text = text.replace("\0", "").strip()
    if not text:
        raise ExtractionError("no text in it")
    match = _title.search(source)
    title = plain(f"{{\\rtf1\\ansi {match[1]}}}", errors="replace").strip() if match else ""
    return Extracted(within(text.encode("utf-8", "replace").decode(), limit), title)
