"""Loaders of HTML, office and book files: one document each, of the text that the reader of its kind extracts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sleuth.errors import LoadError
from sleuth.extensions import named_object
from sleuth.files.formats import BUILT_IN
from sleuth.ingest.extraction.text import Extracted, ExtractionError
from sleuth.ingest.loaders.file import FileBytes
from sleuth.ingest.options import ReadOptions
from sleuth.ingest.reports import Skipped
from sleuth.types import Document

_charset = re.compile(rb"<meta[^>]{1,200}?charset\s*+=\s*+(?:[\"']\s*+)?([\w.:-]{1,40})", re.IGNORECASE)
_reopened = re.compile(r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/>]", re.IGNORECASE)
"""What begins an element that a parser opens again in each paragraph, until it is closed."""
_FEW_ELEMENTS: Final = 400_000
"""Most elements that a page in the program may need: 8 KiB of the worst page need four times as many, and 100 MB."""


def load_html(file: FileBytes, options: ReadOptions) -> Iterator[Document | Skipped]:
    """Yield the page, titled by its <title>, else by its first heading; a process reads what may need much memory."""
    declared = _charset.search(file.head)
    text, metadata = file.text(declared.group(1).decode("ascii") if declared else None)
    tags = text.count("<")
    if (
        file.processes
        and tags * (1 + tags) > _FEW_ELEMENTS  # else they are few even if all of them are such tags
        and tags * (1 + len(_reopened.findall(text))) > _FEW_ELEMENTS
    ):
        yield from file.processes.load(file.entry, file.kind, options)
    else:
        yield extracted(file, text.encode(), options, metadata)


def load_extracted(file: FileBytes, options: ReadOptions) -> Iterator[Document]:
    """Yield the text of a file as the reader of its kind extracts it.

    Raises:
        MissingPackageError: the package that reads this kind is not installed.
        LoadError: there is no text; the message says why.
    """
    BUILT_IN[file.kind].check_installed()
    yield extracted(file, file.read(), options)


def extracted(
    file: FileBytes, data: bytes, options: ReadOptions, metadata: Mapping[str, Any] | None = None
) -> Document:
    """Return the document of a file; raises LoadError, which says why there is no text.

    Args:
        data: all of the file; that of a page is UTF-8.
        metadata: of the file; replaces what the text says.
    """
    read: Callable[[bytes, int], Extracted] = named_object(
        BUILT_IN[file.kind].extract, "sleuth.ingest.extraction"
    )
    try:
        result = read(data, options.max_unpacked_bytes)
    except ExtractionError as error:
        raise LoadError(file.entry.source, str(error), kind=error.kind) from error
    except RecursionError:
        raise LoadError(file.entry.source, "nested too deeply", kind="limits") from None
    title = {"title": result.title} if result.title else {}
    return Document(result.text, {**title, **result.metadata, **(metadata or {})})
