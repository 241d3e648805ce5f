"""Publishes an index: uploads the bytes that the storage lacks, then commits a manifest."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sleuth.cluster.places import is_sharded
from sleuth.cluster.shards import layout
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.address import Address
from sleuth.cluster.storage.manifest import Manifest, PublishedFile, PublishedPart, digest_of, object_name
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.engine import Engine
from sleuth.errors import ArgumentError, StoreError
from sleuth.store import CODE, DOCUMENTS, Names, folder_at, open_file

BLOCK = 16 << 20
"""Bytes per object: what changed of a large file is uploaded, and not all of it."""
_AT_ONCE = 4
"""Blocks that are uploaded at the same time, each held in memory."""
_FACTS = {
    DOCUMENTS: "SELECT version, documents, chunks FROM state",
    CODE: "SELECT (SELECT coalesce(max(serial), 0) FROM snapshots), count(*), coalesce(sum(chunks), 0) FROM files",
}
"""Reads the version of a database, and how many documents and passages it has."""
_ATTEMPTS = 5
"""Most restarts of a copy because a merge removed a segment meanwhile."""


class PublishProgress(NamedTuple):
    """How far publishing is.

    Attributes:
        done, total: bytes of the index.
        uploaded: bytes that the storage did not have.
    """

    done: int
    total: int
    uploaded: int


class _Source(NamedTuple):
    """A file to publish, held open so that a merge cannot take it away."""

    path: str
    file: BinaryIO
    size: int


class _Copy(NamedTuple):
    """One version of an index folder."""

    version: int
    documents: int
    passages: int
    files: list[_Source]


def publish(
    path: str | Path, address: str, *, progress: Callable[[PublishProgress], None] | None = None
) -> Manifest:
    """Publish the newest version of an index; an index that is being written to is published as of one commit a shard.

    Bytes that the storage has already are not uploaded again. A version is visible whole or not at all.

    Args:
        path: an index folder, divided into shards or not.
        address: where to, as `s3://bucket/name`; without a version.
        progress: called after each block.

    Raises:
        IndexNotFoundError: no index at `path`.
        StoreError: the storage cannot be reached, or ignores put-if-absent.
    """
    target = Address.parse(address)
    if target.version is not None:
        raise ArgumentError(
            f"address must be without a version, which publishing numbers itself, got {address!r}"
        )
    folder = folder_at(path)
    with Engine.open(folder) as engine:  # builds missing segments, and refuses a folder without an index
        settings = engine.settings.to_dict()
    divided = layout.read(folder) if is_sharded(folder) else None
    folders = dict(zip(divided.names(), divided.folders(folder), strict=True)) if divided else {"": folder}
    objects = ObjectFolder(target.url)
    objects.check_create_only()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sleuth-publish-")))
        copies = {
            name: _copy(shard, scratch / f"{name or 'index'}.sqlite", stack)
            for name, shard in folders.items()
        }
        upload = _Upload(
            objects, sum(source.size for copy in copies.values() for source in copy.files), progress
        )
        parts = tuple(upload.part(name, copy) for name, copy in copies.items())
        upload.restore()
    return commit_version(objects, settings, divided.shards if divided else 0, parts)


def upload_part(folder: Path, name: str, objects: ObjectFolder, names: Names = DOCUMENTS) -> PublishedPart:
    """Upload what the storage lacks of one index folder, as of its newest commit; no version has it yet.

    Args:
        name: of the folder in the index.
        names: of the database: documents or code.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sleuth-publish-")))
        copy = _copy(folder, scratch / "index.sqlite", stack, names)
        upload = _Upload(objects, sum(source.size for source in copy.files), None)
        part = upload.part(name, copy)
        upload.restore()
    return part


def commit_version(
    objects: ObjectFolder, settings: Mapping[str, Any], shards: int, parts: tuple[PublishedPart, ...]
) -> Manifest:
    """Give the version the next number that nobody else takes."""
    number = max(versions.numbers(objects), default=0)
    while True:
        number += 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(number, now, shards, settings, parts)
        if objects.put(versions.manifest_name(number), manifest.encode()):
            return manifest


def _copy(folder: Path, scratch: Path, stack: ExitStack, names: Names = DOCUMENTS) -> _Copy:
    """Copy the record as of one commit, and open the segments that it names."""
    for _ in range(_ATTEMPTS):
        _back_up(folder / names.record, scratch)
        connection = sqlite3.connect(scratch)
        try:
            rows = connection.execute("SELECT name FROM segments WHERE inline IS NULL")
            segments = [f"{names.segments}/{name}.seg" for (name,) in rows]
            facts = connection.execute(_FACTS[names]).fetchone()
        finally:
            connection.close()
        files = [(names.record, scratch), *((name, folder / name) for name in segments)]
        try:
            version, documents, passages = facts
            return _Copy(version, documents, passages, [_open(path, file, stack) for path, file in files])
        except FileNotFoundError:
            continue
    raise StoreError(
        f"{folder} changes too fast to be copied: publish again when less is written", path=str(folder)
    )


def _back_up(record: Path, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    source = sqlite3.connect(f"{record.absolute().as_uri()}?mode=ro", uri=True)
    target = sqlite3.connect(copy)
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()


def _open(path: str, file: Path, stack: ExitStack) -> _Source:
    handle = stack.enter_context(os.fdopen(open_file(file, os.O_RDONLY), "rb"))
    return _Source(path, handle, os.fstat(handle.fileno()).st_size)


class _Upload:
    """Uploads the blocks of files, each once."""

    def __init__(
        self, objects: ObjectFolder, total: int, progress: Callable[[PublishProgress], None] | None
    ) -> None:
        self._objects = objects
        self._total = total
        self._progress = progress
        self._present = {name for name, _ in objects.list("objects")}
        self._blocks: dict[str, tuple[_Source, int]] = {}
        self._done = self._uploaded = 0

    def part(self, name: str, copy: _Copy) -> PublishedPart:
        """Upload the files of an index folder."""
        files = tuple(map(self.file, copy.files))
        return PublishedPart(name, copy.version, copy.documents, copy.passages, files)

    def file(self, source: _Source) -> PublishedFile:
        """Upload a file."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            blocks: list[str] = []
            starts = iter(range(0, source.size, BLOCK))
            while some := [
                (start, _read(source, start)) for start, _ in zip(starts, range(_AT_ONCE), strict=False)
            ]:
                blocks += pool.map(lambda block: self._block(source, *block), some)
        return PublishedFile(source.path, source.size, tuple(blocks))

    def _block(self, source: _Source, start: int, data: bytes) -> str:
        digest = digest_of(data)
        name = object_name(digest)
        if name not in self._present:
            self._objects.put(name, data)
            self._present.add(name)
            self._uploaded += len(data)
        self._blocks[name] = source, start
        self._done += len(data)
        if self._progress:
            self._progress(PublishProgress(self._done, self._total, self._uploaded))
        return digest

    def restore(self) -> None:
        """Upload again what somebody pruned meanwhile."""
        present = {name for name, _ in self._objects.list("objects")}
        for name in self._blocks.keys() - present:
            self._objects.put(name, _read(*self._blocks[name]))


def _read(source: _Source, start: int) -> bytes:
    source.file.seek(start)
    return source.file.read(BLOCK)


def blocks_of(file: PublishedFile) -> Iterator[tuple[str, int]]:
    """Yield each block of a file with the size that it must have."""
    for place, digest in enumerate(file.blocks):
        yield digest, min(BLOCK, file.size - place * BLOCK)
