"""Reads a dump of Elasticsearch or OpenSearch: JSON lines, each a document or a page of a scroll."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sleuth.errors import ArgumentError
from sleuth.plugins.importers.stored import StoredVector, StoredVectors
from sleuth.vector_store import read_rows, row_document

_ID = "_id"


def read_elasticsearch(
    path: str | Path, *, text_field: str = "text", vector_field: str = ""
) -> StoredVectors:
    """Return the documents of a dump.

    A line is a hit, `{"_id": ..., "_source": {...}}`, as elasticdump writes it, or the answer to a search or scroll,
    `{"hits": {"total": ..., "hits": [...]}}`.

    Args:
        path: a file of JSON lines.
        text_field: field of the text in `_source`; a dot leads into an object. Further fields are metadata.
        vector_field: field of the vector; "" for none: the index makes the vectors then.

    Raises:
        ArgumentError: a file or line of another kind.
    """
    return StoredVectors(str(path), _rows(path, text_field, vector_field), _total(path))


def _total(path: str | Path) -> int | None:
    """Return how many documents the first page of a scroll says there are; None where nothing says it exactly."""
    total = (next(read_rows(path), {}).get("hits") or {}).get("total")
    if isinstance(total, Mapping):
        total = total.get("value") if total.get("relation", "eq") == "eq" else None
    return total if type(total) is int else None


def _rows(path: str | Path, text_field: str, vector_field: str) -> Iterator[StoredVector]:
    for hit in _hits(path):
        source, place = hit.get("_source"), f"document {hit.get(_ID)!r} of {path}"
        if not isinstance(source, Mapping):
            raise ArgumentError(f"{place} must have a '_source', got {sorted(hit)}")
        text, row = _split(source, text_field)
        vector, row = _split(row, vector_field) if vector_field else (None, row)
        if vector_field and not vector:
            raise ArgumentError(f"{place} must have a {vector_field!r}, got {sorted(source)}")
        document = row_document({**row, text_field: text, _ID: hit.get(_ID)}, place, text_field, _ID)
        yield StoredVector(document, vector)


def _hits(path: str | Path) -> Iterator[Mapping[str, Any]]:
    for line in read_rows(path):
        page = line.get("hits")
        yield from page["hits"] if isinstance(page, Mapping) else [line]


def _split(source: Mapping[str, Any], field: str) -> tuple[Any, dict[str, Any]]:
    """Return the value of a field, by its name or by a path of names between dots, and the other fields."""
    other_fields = dict(source)
    if field in other_fields:
        return other_fields.pop(field), other_fields
    first_name, _, inner_path = field.partition(".")
    if not inner_path or not isinstance(other_fields.get(first_name), Mapping):
        return None, other_fields
    value, inner = _split(other_fields[first_name], inner_path)
    other_fields[first_name] = inner or None
    return value, other_fields
