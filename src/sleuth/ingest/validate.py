"""Checks that the index can keep a document, and prepares what it keeps, with hashes that detect changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.files.formats import CODE
from sleuth.ingest.options import AUTO
from sleuth.store import Json
from sleuth.store.record.layout import check_text
from sleuth.store.record.metadata import (
    encode_values,
    fit_values,
    joined,
    plain_value,
    plain_values,
    read_back,
)
from sleuth.text.detection import detect_language
from sleuth.text.languages import ENGLISH
from sleuth.types import Document

_COLUMNS: Final = frozenset({"source", "title"})
"""Metadata that the record keeps in columns of their own."""
VOLATILE: Final = frozenset({"modified", "size", "content_hash"})
"""Metadata that may differ between two readings of one content. A row keeps the values of its last change."""
_NO_METADATA: Final = b"\0{}"
"""The bytes that are hashed for empty metadata, the commonest case in a bulk load."""
_LENIENT: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)


class PreparedDocument(NamedTuple):
    """A document with the values that the record stores. Metadata is encoded as JSON only here.

    Attributes:
        id: names it in the index.
        content_hash: hex.
        metadata: without source and title; None if empty.
        source: None if the document states none.
    """

    document: Document
    id: str
    content_hash: str
    metadata: Json | None
    source: str | None
    title: str


def prepare(document: Document) -> PreparedDocument:
    """Return a document as the index keeps it.

    Raises:
        ArgumentError: the index cannot keep it; the message says why and names the document.
    """
    id = _named(document)
    try:
        check_text(document.page_content, "page_content")
        metadata, values, source, title = _checked_metadata(document)
        digest = hash_of(document.page_content, values)
        name = digest if id is None else check_text(id, "id")
        return PreparedDocument(document, name, digest, metadata, source, title)
    except ArgumentError as error:
        raise ArgumentError(f"{error}{in_document(id)}") from error


def _checked_metadata(document: Document) -> tuple[Json | None, dict[str, str], str | None, str]:
    """Return metadata as the record stores it, the JSON of each value, the source and the title."""
    metadata: Mapping[str, Any] = document.metadata
    if not metadata:
        return None, {}, None, ""
    if names := [name for name in metadata if not isinstance(name, str)]:
        raise ArgumentError(f"metadata must have names that are strings, got {names[0]!r}")
    metadata, values = fit_values(metadata, "metadata")
    source, title = metadata.get("source"), metadata.get("title")
    if source is not None and not isinstance(source, str):
        raise ArgumentError(f"metadata['source'] must be a string, got {source!r}")
    check_text(source or "", "source")
    title = "" if title is None else check_text(str(title), "title")
    further_metadata = {name: value for name, value in metadata.items() if name not in _COLUMNS}
    text = check_text(joined(values, left_out=_COLUMNS), "metadata") if further_metadata else ""
    json = read_back(further_metadata, text, "metadata") if further_metadata else None
    return json, values, source, title


def with_language(document: Document, language: str = AUTO) -> Document:
    """Return a document with the metadata `language`, unless it states its own.

    English is written for files alone: a document without a language is analysed as English, and what a caller adds
    stays as it is.
    """
    metadata, text = getattr(document, "metadata", None), getattr(document, "page_content", None)
    if not isinstance(metadata, dict) or "language" in metadata or not isinstance(text, str):
        return document
    is_file = "path" in metadata and "type" in metadata
    if is_file and metadata["type"] in CODE:
        return document
    code = detect_language(text) if language == AUTO else language
    if not code or (code == ENGLISH and not is_file and language == AUTO):
        return document
    # Without an id and a source it is a hash of the content, which then has no language yet.
    id = document.id if metadata.get("source") else identify(document)
    return Document(text, {**metadata, "language": code}, id=id)


def identify(document: Document) -> str:
    """Return the id that names a document in the index: its own, else its source, else a hash of its content.

    Raises:
        ArgumentError: not a document, an id or a text that is not a string, or a blank id.
    """
    id = _named(document)
    return content_hash(document) if id is None else id


def _named(document: Document) -> str | None:
    """Return the id that a document states: its own, else its source; None without either."""
    try:
        text, metadata, id = document.page_content, document.metadata, document.id
    except AttributeError:
        raise ArgumentError(f"documents must hold Documents, got {document!r}") from None
    if not isinstance(metadata, (dict, Mapping)):  # most are dicts, which is the fast check
        raise ArgumentError(f"metadata must be a mapping, got {metadata!r}{in_document(id)}")
    if id is None:
        id = metadata.get("source")
        id = id if type(id) is str else plain_value(id)
    if not isinstance(text, str):
        raise ArgumentError(f"page_content must be a string, got {text!r}{in_document(id)}")
    if id is not None and (not isinstance(id, str) or not id.strip()):
        raise ArgumentError(f"id (or metadata['source']) must be a string that is not blank, got {id!r}")
    return id


def in_document(id: str | None) -> str:
    """Return the end of a message that names its document."""
    return "" if id is None else f", in the document {id!r}"


def content_hash(document: Document) -> str:
    """Return BLAKE2b of 128 bits over text and metadata, 32 hex digits.

    Equal for equal text and equal metadata, whatever the order of keys; keys in `VOLATILE` do not count, nor does
    the id. Metadata that the index cannot keep counts by its `str`.

    Raises:
        ArgumentError: metadata that contain themselves, are nested too deeply, or have names that are not strings.
    """
    if not document.metadata:
        return hash_of(document.page_content)
    try:
        "".join(document.metadata)  # the fastest way to see that all keys are strings
        values = encode_values(plain_values(document.metadata), _LENIENT.encode)
        return hash_of(document.page_content, values)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"metadata must be JSON values under names that are strings ({error})") from error


def hash_of(text: str, values: Mapping[str, str] | None = None) -> str:
    """Return the hash of a text and of metadata as `encode_values` returns them."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
    if values:
        canonical = joined({name: values[name] for name in sorted(values)}, left_out=VOLATILE)
        digest.update(b"\0" + canonical.encode("utf-8", "surrogatepass"))
    else:
        digest.update(_NO_METADATA)
    return digest.hexdigest()
