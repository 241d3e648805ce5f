"""The language of a document, kept as metadata: it chooses the analyzer of its words."""

from __future__ import annotations

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
    metadata, text = (getattr(document, name, None) for name in ("metadata", "page_content"))
    if not isinstance(metadata, dict) or "language" in metadata or not isinstance(text, str):
        return document
    is_file = "path" in metadata and "type" in metadata
    if is_file and metadata["type"] in CODE:
        return document
    code = detect_language(text) if language == AUTO else language
    if not code or (code == ENGLISH and not is_file and language == AUTO):
        return document
    return Document(text, {**metadata, "language": code}, id=identify(document))
