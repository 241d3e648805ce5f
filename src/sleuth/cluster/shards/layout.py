"""Which shard a document and a key belong to, and where the shards of an index folder are."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sleuth.arguments import check_count
from sleuth.cluster.places import SHARDS as NAME
from sleuth.errors import ArgumentError, FormatVersionError, IndexDamagedError
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import make_index, open_file, opened_folder

KEY_BITS: Final = 44
"""Of a key over all shards that name the row in its shard; the number of the shard is above them."""
LOCAL: Final = (1 << KEY_BITS) - 1
"""The bits of a key that name the row in its shard."""

FORMAT = 1
DEFAULT_SHARDS = 16
MOST_SHARDS = 4096
_MOST_BYTES = 10_000
"""Of the file; it holds two numbers."""


def shard_of(document_id: str, shards: int) -> int:
    """Return the number of the shard that a document belongs to: the same on every machine and in every version."""
    digest = hashlib.blake2b(document_id.encode("utf8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards


@dataclass(frozen=True, slots=True)
class Layout:
    """How an index folder is divided.

    Attributes:
        shards: how many; chosen when the index is made, and never changed.
    """

    shards: int = DEFAULT_SHARDS

    def __post_init__(self) -> None:
        check_count(self.shards, "shards", least=1, most=MOST_SHARDS)

    def names(self) -> list[str]:
        """Return the names of the shards' folders, by number."""
        return [f"shard-{number:05d}" for number in range(self.shards)]

    def folders(self, folder: Path) -> list[Path]:
        """Return the shards' folders, by number; each is an index that `Engine.open` opens alone."""
        return [folder / name for name in self.names()]

    def encode(self) -> bytes:
        """Return the content of the file that describes the layout."""
        return json.dumps({"format": FORMAT, "shards": self.shards}).encode()

    @classmethod
    def decode(cls, content: bytes, where: str) -> Layout:
        """Return the layout that a file describes.

        Raises:
            IndexDamagedError: it is not what `encode` gives.
            FormatVersionError: a later version of Sleuth wrote it.
        """
        try:
            values = json.loads(content)
            number, shards = values["format"], values["shards"]
        except (ValueError, TypeError, KeyError) as error:
            raise IndexDamagedError(f"{where} does not describe shards: restore it from a copy") from error
        if number != FORMAT:
            raise FormatVersionError(
                f"{where} has format {number!r}, and this version of Sleuth reads {FORMAT}: open it with the version "
                "that made it"
            )
        try:
            return cls(shards)
        except ArgumentError as error:
            raise IndexDamagedError(f"{where}: {error}") from error


def read(folder: Path) -> Layout:
    """Return the layout of an index folder.

    Raises:
        IndexDamagedError, FormatVersionError: as `Layout.decode`.
        IndexUnsafeError: the file, or the folder of a shard, is a link.
    """
    path = folder / NAME
    with os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        layout = Layout.decode(file.read(_MOST_BYTES), str(path))
    for shard in layout.folders(folder):
        if os.path.lexists(shard):
            with opened_folder(shard):
                pass
    return layout


def write(folder: Path, layout: Layout) -> None:
    """Describe a new index folder, durably; of two processes that do it at once, the first stands."""
    make_index(folder)
    temporary = folder / f"{NAME}.{uuid.uuid4().hex}"
    with os.fdopen(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(layout.encode())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, folder / NAME)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    sync_folder(folder)
