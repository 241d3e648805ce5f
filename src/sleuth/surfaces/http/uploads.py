"""Files that clients uploaded: each has an id of its own, which metadata of its documents holds.

A document of an uploaded file has the metadata key `upload`: the id, name, bytes, time and purpose of the file, and the
names of the metadata that its client gave it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, Field

from sleuth.errors import ArgumentError
from sleuth.types import UPLOAD


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
