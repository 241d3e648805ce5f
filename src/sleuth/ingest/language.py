"""The language of a document, kept as metadata: it chooses the analyzer of its words."""

from __future__ import annotations

from typing import Any

from sleuth.files.formats import CODE
from sleuth.ingest.options import AUTO
from sleuth.ingest.validate import identify
from sleuth.text.detection import detect_language
from sleuth.text.languages import ENGLISH
from sleuth.types import Document


def with_language(document: Document, language: str = AUTO) -> Document:
    """Return a document with the metadata `language`, unless it states its own.

    English is written for files alone: a document without a language is analysed as English, and what a caller adds
    stays as it is.
    """
    metadata = getattr(document, "metadata", None)
    if not isinstance(metadata, dict) or "language" in metadata or not isinstance(document.page_content, str):
        return document
    is_file = "path" in metadata and "type" in metadata
    if is_file and metadata["type"] in CODE:
        return document
    code = detect_language(document.page_content) if language == AUTO else language
    if not code or (code == ENGLISH and not is_file and language == AUTO):
        return document
    extended: dict[str, Any] = {**metadata, "language": code}
    return Document(document.page_content, extended, id=identify(document))
