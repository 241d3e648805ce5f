"""The manifest of a published version: which files an index consists of, and which objects hold their bytes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Annotated, Any, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from sleuth.errors import FormatVersionError, IndexDamagedError
from sleuth.store.disk.files import CODE, DOCUMENTS

FORMAT = 1

# A manifest may come from somebody else: what it names must lie in the folder that it is fetched into.
_Path: TypeAlias = Annotated[
    str,
    Field(
        pattern="^("
        + "|".join(
            rf"{re.escape(names.record)}|{re.escape(names.segments)}/[0-9A-Za-z_-]+\.seg"
            for names in (DOCUMENTS, CODE)
        )
        + ")$"
    ),
]
_Folder: TypeAlias = Annotated[str, Field(pattern="^(shard-[0-9]{5})?$")]
_Digest: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
_Count: TypeAlias = Annotated[int, Field(ge=0)]


def digest_of(data: bytes) -> str:
    """Return the name of an object with this content."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def object_name(digest: str) -> str:
    """Return where the object with this digest is."""
    return f"objects/{digest[:2]}/{digest}"


@dataclass(frozen=True, slots=True)
class PublishedPatch:
    """Pages of a file that changed since its blocks were uploaded.

    Attributes:
        digest: of the object that holds them.
        size: of the object in bytes.
    """

    digest: _Digest
    size: _Count


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file of an index folder.

    Attributes:
        path: in the folder, with "/".
        size: in bytes.
        blocks: digests of the objects whose contents, one after the other, are the file, before the patches.
        patches: in the order in which they are applied.
        pages: for each 16 MiB of the file, the digest of the object with the hashes of its pages. Empty for files
            that never change.
    """

    path: _Path
    size: _Count
    blocks: tuple[_Digest, ...]
    patches: tuple[PublishedPatch, ...] = ()
    pages: tuple[_Digest, ...] = ()

    @property
    def name(self) -> str:
        """Names the content of the file."""
        return digest_of("".join((*self.blocks, *(patch.digest for patch in self.patches))).encode())

    def objects(self) -> Iterator[str]:
        """Yield the digests of its objects."""
        yield from self.blocks
        yield from (patch.digest for patch in self.patches)
        yield from self.pages


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """One index folder of a published index: a shard, or all of it.

    Attributes:
        folder: its name; "" where the index is not divided.
        version: of the index in it.
        listing: digests of the objects that list the files of its documents; None where nobody listed them.
    """

    folder: _Folder
    version: _Count
    documents: _Count
    passages: _Count
    files: tuple[PublishedFile, ...]
    listing: tuple[_Digest, ...] | None = None

    def objects(self) -> Iterator[str]:
        """Yield the digests of its objects."""
        for file in self.files:
            yield from file.objects()
        yield from self.listing or ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a published index.

    Attributes:
        number: 1 and up; the newest version has the greatest.
        published: when, in ISO 8601, UTC.
        shards: how many; 0 where the index is not divided.
    """

    number: _Count
    published: str
    shards: _Count
    settings: Mapping[str, Any]
    parts: tuple[PublishedPart, ...]

    def objects(self) -> set[str]:
        """Return the digests of all objects of this version."""
        return {digest for part in self.parts for digest in part.objects()}

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for part in self.parts for file in part.files)

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
        values = {"format": FORMAT, **asdict(self)}
        body = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
        return f"{digest_of(body)}\n".encode() + body

    @classmethod
    def decode(cls, content: bytes, where: str) -> Manifest:
        """Return what `encode` stored.

        Raises:
            IndexDamagedError: the content is not as it was written, or names files outside of an index.
            FormatVersionError: a later version of Sleuth wrote it.
        """
        checksum, _, body = content.partition(b"\n")
        if checksum.decode("ascii", "replace") != digest_of(body):
            raise IndexDamagedError(
                f"{where} is damaged: its checksum does not match; publish again", path=where
            )
        try:
            values = json.loads(body)
            number = values.pop("format", None)
        except (ValueError, AttributeError, TypeError, RecursionError) as error:
            raise IndexDamagedError(f"{where} is no manifest: publish again", path=where) from error
        if number != FORMAT:
            raise FormatVersionError(
                f"{where} has format {number!r}, and this version of Sleuth reads {FORMAT}", path=where
            )
        try:
            return _validator().validate_python(values)
        except ValidationError as error:
            problem = error.errors()[0]
            name = ".".join(map(str, problem["loc"]))
            raise IndexDamagedError(
                f"{where} is not as Sleuth writes it: {name}: {problem['msg']}, got {problem['input']!r:.100}; "
                "publish again",
                path=where,
            ) from error


@cache
def _validator() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)
