"""Checks that the index can keep a document, and finds the id that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sleuth.errors import ArgumentError
from sleuth.ingest.hashing import content_hash
from sleuth.store.record.layout import check_text, to_json
from sleuth.types import Document


def identify(document: Document) -> str:
    """The id that names a document in the index: its own, else its source, else a hash of its content.

    Raises:
        ArgumentError: what is no document, an id or a text that is not a string, or an id that is blank.
    """
    try:
        text, metadata, id = document.page_content, document.metadata, document.id
    except AttributeError:
        raise ArgumentError(f"documents must hold Documents, got {document!r}") from None
    if not isinstance(metadata, (dict, Mapping)):  # most are dicts, which is seen at once
        raise ArgumentError(f"metadata must be a mapping, got {metadata!r}{in_document(id)}")
    if id is None:
        id = metadata.get("source")
    if not isinstance(text, str):
        raise ArgumentError(f"page_content must be a string, got {text!r}{in_document(id)}")
    if id is None:
        return content_hash(document)
    if not isinstance(id, str) or not id.strip():
        raise ArgumentError(f"id (or metadata['source']) must be a string that is not blank, got {id!r}")
    return id


def in_document(id: str | None) -> str:
    """Return what a message adds to say which document it is about."""
    return "" if id is None else f", in the document {id!r}"


def check(document: Document) -> None:
    """See that the index can keep a document, before it is put together with others.

    Raises:
        ArgumentError: it cannot; says why.
    """
    check_text(identify(document), "id")
    check_text(document.page_content, "page_content")
    metadata, source, title = split_metadata(document)
    check_text(source or "", "source")
    check_text(title, "title")
    check_metadata(metadata or {})


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """See that the index can keep these values.

    Raises:
        ArgumentError: it cannot; says why.
    """
    if names := [name for name in metadata if not isinstance(name, str)]:
        raise ArgumentError(f"metadata must have names that are strings, got {names[0]!r}")
    to_json(metadata, "metadata")


def split_metadata(document: Document) -> tuple[dict[str, Any] | None, str | None, str]:
    """Metadata without `source` and `title`, and these two, as the record keeps them."""
    if not document.metadata:
        return None, None, ""
    metadata = dict(document.metadata)
    source = metadata.pop("source", None)
    title = metadata.pop("title", None)
    if source is not None and not isinstance(source, str):
        raise ArgumentError(f"metadata['source'] must be a string, got {source!r}")
    return metadata, source, "" if title is None else str(title)
