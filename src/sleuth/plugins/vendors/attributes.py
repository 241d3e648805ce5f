"""Documents as files with attributes, as OpenAI's clients know them.

An attribute is metadata like any other, unless the engine has a key of its name; then it is in `upload.attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from sleuth.filters import And, Compare, Filter, Operator, any_of
from sleuth.surfaces.http import UploadedFile
from sleuth.types import RESERVED, UPLOAD

STORES: Final = "vector_store"
"""Metadata key: names of the scoped vector stores that a document is in."""
OWN_KEYS: Final = RESERVED | {"title", "language", STORES, UPLOAD}
"""Metadata keys that mean something to the engine; attributes of these names have a place of their own."""


def file_of(id: str, metadata: Mapping[str, Any]) -> UploadedFile:
    """Return the file of a document: the uploaded one, or for a document of another origin the document itself."""
    try:
        return UploadedFile.model_validate(metadata.get(UPLOAD))
    except ValidationError:
        source, size, modified = (metadata.get(key) for key in ("source", "size", "modified"))
        try:
            created_at = int(datetime.fromisoformat(str(modified)).timestamp())
        except (ValueError, OverflowError):
            created_at = 0
        name = str(source or id)
        name = name.rstrip("/").rpartition("/")[2] or name
        return UploadedFile(id=id, name=name, bytes=size if type(size) is int else 0, created_at=created_at)


def upload_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document says of the file that it was uploaded in; empty where it was not."""
    values = metadata.get(UPLOAD)
    return dict(values) if isinstance(values, Mapping) else {}


def attributes_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a file as its client gave them; of another document, its own metadata."""
    upload = upload_of(metadata)
    fields = upload.get("attributes", {})
    names = upload.get("names", ()) if upload else metadata.keys() - RESERVED
    values = {name: fields.get(name, metadata.get(name)) for name in metadata if name in names} | fields
    return {name: value for name, value in values.items() if isinstance(value, str | int | float | bool)}


def attribute_filter(name: str, operator: Operator, value: Any) -> Filter:
    """Return a comparison of an attribute; one with a name of the engine's means the client's where it gave one."""
    if name not in OWN_KEYS:
        return Compare(name, operator, value)
    own_key = f"{UPLOAD}.attributes.{name}"
    return any_of(
        And((Compare(own_key, "exists", True), Compare(own_key, operator, value))),
        And((Compare(own_key, "exists", False), Compare(name, operator, value))),
    )
