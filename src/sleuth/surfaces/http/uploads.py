"""Files that clients uploaded: each has an id of its own, which metadata of its documents holds.

A document of an uploaded file has the metadata key `upload`: the id, name, bytes, time and purpose of the file, and the
attributes that its client gave it. An attribute is metadata like any other, unless the engine has a key of its name;
then it is in `upload.attributes`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError

from sleuth.errors import ArgumentError
from sleuth.filters import And, Compare, Filter, Operator, any_of
from sleuth.types import RESERVED
from sleuth.types.documents import UPLOAD

STORES: Final = "vector_store"
"""Metadata key: names of the scoped vector stores that a document is in."""
OWN_KEYS: Final = RESERVED | {"title", "language", STORES, UPLOAD}
"""Metadata keys that mean something to the engine; attributes of these names have a place of their own."""


class UploadedFile(BaseModel):
    """A file that a client uploaded."""

    id: str = Field(examples=["file-18b2c3d4e5f60718a1b2c3d4"])
    name: str = Field(description="The last part of its path.")
    path: str = Field(default="", description="As the client sent it: the source of its documents.")
    bytes: int = Field(description="Its size.", examples=[2048])
    created_at: int
    purpose: str = Field(
        default="assistants", description="What it was uploaded for.", examples=["assistants"]
    )

    @classmethod
    def new(cls, name: str | None, size: int | None, purpose: str = "assistants") -> UploadedFile:
        """Return a new file; two of one name differ.

        Raises:
            ArgumentError: a name that could not name a file.
        """
        path = _relative_path(name)
        return cls(
            id=f"file-{secrets.token_hex(12)}",
            name=path.rpartition("/")[2],
            path=path,
            bytes=size or 0,
            created_at=int(time.time()),
            purpose=purpose,
        )

    def metadata(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the metadata of its documents that says which file they are of.

        Args:
            attributes: of the client.
        """
        names = {"names": list(attributes)} if attributes else {}
        return {UPLOAD: self.model_dump(exclude={"path"}) | names}


def _relative_path(name: str | None) -> str:
    """Return the path of a file below the folder that a client uploads, as clients of all systems write it.

    Raises:
        ArgumentError: nothing is left that could name a file.
    """
    parts: list[str] = []
    for part in PurePosixPath((name or "").replace("\\", "/")).parts:
        if part == ".." or part.endswith((":", "/")):
            parts.clear()  # what is before it is no folder of the upload
        else:
            parts.append(part)
    path = "/".join(parts)
    is_short = len(path.encode()) <= 4096 and all(len(part.encode()) <= 255 for part in parts)
    if not parts or not parts[-1].strip(" .") or not path.isprintable() or not is_short:
        raise ArgumentError(f"files must have names of 1 to 255 bytes, got {name!r}")
    return path


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
    own = upload.get("attributes", {})
    names = upload.get("names", ()) if upload else metadata.keys() - RESERVED
    values = {name: own.get(name, metadata.get(name)) for name in metadata if name in names} | own
    return {name: value for name, value in values.items() if isinstance(value, str | int | float | bool)}


def attribute_filter(name: str, operator: Operator, value: Any) -> Filter:
    """Return a comparison of an attribute; one with a name of the engine's means the client's where it gave one."""
    if name not in OWN_KEYS:
        return Compare(name, operator, value)
    own = f"{UPLOAD}.attributes.{name}"
    return any_of(
        And((Compare(own, "exists", True), Compare(own, operator, value))),
        And((Compare(own, "exists", False), Compare(name, operator, value))),
    )
