"""The manifest of a published version: which files an index consists of, and which objects hold their bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sleuth.errors import FormatVersionError, IndexDamagedError

FORMAT = 1


def digest_of(data: bytes) -> str:
    """Return the name of an object with this content."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def object_name(digest: str) -> str:
    """Return where the object with this digest is."""
    return f"objects/{digest[:2]}/{digest}"


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of an index folder.

    Attributes:
        path: in the folder, with "/".
        size: in bytes.
        blocks: digests of the objects whose contents, one after the other, are the file.
    """

    path: str
    size: int
    blocks: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names the content of the file."""
        return digest_of("".join(self.blocks).encode())


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """One index folder of a published index: a shard, or all of it.

    Attributes:
        folder: its name; "" where the index is not divided.
        version: of the index in it.
    """

    folder: str
    version: int
    documents: int
    passages: int
    files: tuple[PublishedFile, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a published index.

    Attributes:
        number: 1 and up; the newest version has the greatest.
        published: when, in ISO 8601, UTC.
        shards: how many; 0 where the index is not divided.
    """

    number: int
    published: str
    shards: int
    settings: Mapping[str, Any]
    parts: tuple[PublishedPart, ...]

    def objects(self) -> set[str]:
        """Return the digests of all objects of this version."""
        return {block for file in self.files() for block in file.blocks}

    def files(self) -> Iterator[PublishedFile]:
        """Yield the files of all parts."""
        return (file for part in self.parts for file in part.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files())

    @property
    def documents(self) -> int:
        """Documents of all parts."""
        return sum(part.documents for part in self.parts)

    @property
    def passages(self) -> int:
        """Passages of all parts."""
        return sum(part.passages for part in self.parts)

    def of_parts(self, numbers: Sequence[int]) -> Manifest:
        """Return the same version with these parts alone, by number."""
        return replace(self, parts=tuple(self.parts[number] for number in numbers))

    def encode(self) -> bytes:
        """Return the manifest with its checksum, as it is stored."""
        body = json.dumps(
            {"format": FORMAT, **asdict(self)}, ensure_ascii=False, separators=(",", ":")
        ).encode()
        return f"{digest_of(body)}\n".encode() + body

    @classmethod
    def decode(cls, content: bytes, where: str) -> Manifest:
        """Return what `encode` stored.

        Raises:
            IndexDamagedError: the content is not as it was written.
            FormatVersionError: a later version of Sleuth wrote it.
        """
        checksum, _, body = content.partition(b"\n")
        if checksum.decode("ascii", "replace") != digest_of(body):
            raise IndexDamagedError(
                f"{where} is damaged: its checksum does not match; publish again", path=where
            )
        values = json.loads(body)
        number = values.pop("format", None)
        if number != FORMAT:
            raise FormatVersionError(
                f"{where} has format {number!r}, and this version of Sleuth reads {FORMAT}", path=where
            )
        parts = tuple(
            PublishedPart(
                **{
                    **part,
                    "files": tuple(
                        PublishedFile(file["path"], file["size"], tuple(file["blocks"]))
                        for file in part["files"]
                    ),
                }
            )
            for part in values.pop("parts")
        )
        return cls(**values, parts=parts)
