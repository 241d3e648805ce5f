"""Publishes an index: uploads the bytes that the storage lacks, then commits a manifest."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sleuth.cluster.places import address_of, is_sharded
from sleuth.cluster.shards import layout
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.manifest import (
    Manifest,
    PublishedFile,
    PublishedPart,
    PublishedPatch,
    digest_of,
    object_name,
)
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.cluster.storage.patches import PAGE, changed_pages, encode_patch, page_hashes, pages_of
from sleuth.cluster.storage.versions import Address
from sleuth.engine import Engine
from sleuth.errors import ArgumentError, StoreError
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.disk.files import CODE, DOCUMENTS, Names, open_file

BLOCK = 16 << 20
"""Bytes per object: what changed of a large file is uploaded, and not all of it."""
_AT_ONCE = 4
"""Blocks that are uploaded at the same time, each held in memory."""
_FACTS = {
    DOCUMENTS: "SELECT version, documents, chunks FROM state",
    CODE: "SELECT (SELECT coalesce(max(serial), 0) FROM snapshots), count(*), coalesce(sum(chunks), 0) FROM files",
}
"""Reads the version of a database, and how many documents and passages it has."""
_SHARE = 4
"""Patches may hold a quarter of the bytes of their file; then it is uploaded as blocks."""
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

    Bytes that the storage has already are not uploaded again. A version is visible whole or not at all. There is no new
    one where the newest version holds the same already.

    Args:
        path: an index folder, divided into shards or not.
        address: where to, as `s3://bucket/name`; without a version.
        progress: called after each block.

    Returns:
        The manifest of the newest version.

    Raises:
        IndexNotFoundError: no index at `path`.
        StoreError: the storage cannot be reached, or ignores put-if-absent.
    """
    target = Address.parse(address, is_new=True)
    folder = folder_at(path)
    if (published := address_of(path)) is not None:
        raise ArgumentError(
            f"path must be an index folder, got {published}, which is published: `sleuth cluster fetch` copies it"
        )
    with Engine.open(folder) as engine:  # builds missing segments, and refuses a folder without an index
        settings = engine.settings.to_dict()
    divided = layout.read(folder) if is_sharded(folder) else None
    folders = dict(zip(divided.names(), divided.folders(folder), strict=True)) if divided else {"": folder}
    objects = ObjectFolder(target.url)
    objects.check_create_only()
    base = versions.newest_version(objects)
    parts = upload_parts(folders, objects, base.parts if base else (), progress=progress)
    shards = divided.shards if divided else 0
    if base is not None and (base.parts, base.shards, base.settings) == (parts, shards, settings):
        return base
    return commit_version(objects, settings, shards, parts)


def upload_parts(
    folders: Mapping[str, Path],
    objects: ObjectFolder,
    base: Sequence[PublishedPart] = (),
    names: Names = DOCUMENTS,
    *,
    listings: Mapping[str, Sequence[bytes]] | None = None,
    progress: Callable[[PublishProgress], None] | None = None,
) -> tuple[PublishedPart, ...]:
    """Upload what the storage lacks of some index folders, each as of its newest commit; no version has it yet.

    Args:
        folders: by their names in the index.
        base: parts of a version: of a part with the same name, only the pages that changed are uploaded.
        names: of the database: documents or code.
        listings: blocks that list the files of each folder, by its name.

    Returns:
        A part for each folder; equal to the one of `base` where nothing changed.
    """
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sleuth-publish-")))
        copies = {
            name: _copy(folder, scratch / f"{name or 'index'}.sqlite", stack, names)
            for name, folder in folders.items()
        }
        total = sum(source.size for copy in copies.values() for source in copy.files)
        upload = _Upload(objects, total, progress)
        parts_before = {part.folder: part for part in base}
        parts = tuple(
            upload.part(name, copy, parts_before.get(name), (listings or {}).get(name))
            for name, copy in copies.items()
        )
        upload.check()
    return parts


def commit_version(
    objects: ObjectFolder,
    settings: Mapping[str, Any],
    shards: int,
    parts: tuple[PublishedPart, ...],
    *,
    after: Manifest | None = None,
) -> Manifest:
    """Give the version the next number that nobody else takes.

    Args:
        after: the version that this one was made from, whose changes it has; None where it depends on no other.

    Raises:
        StoreError: another version follows `after` already.
    """
    number = max(versions.numbers(objects), default=0)
    while True:
        if after is not None and number != after.number:
            raise StoreError(
                f"version {number} of {objects.url} was published meanwhile: run the command again",
                path=objects.url,
            )
        number += 1
        now = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(number, now, shards, settings, parts)
        if objects.put(versions.manifest_name(number), manifest.encode()):
            return manifest


def _copy(folder: Path, scratch: Path, stack: ExitStack, names: Names = DOCUMENTS) -> _Copy:
    """Copy the record as of one commit, and open the segments that it names.

    That version is read until the stack is closed: so no text of a segment is overwritten before it is copied.
    """
    for _ in range(_ATTEMPTS):
        scratch.unlink(missing_ok=True)
        record = f"{(folder / names.record).absolute().as_uri()}?mode=ro"
        source = stack.enter_context(closing(sqlite3.connect(record, uri=True, isolation_level=None)))
        with closing(sqlite3.connect(scratch)) as copy:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            source.backup(copy)
            rows = copy.execute("SELECT name FROM segments WHERE inline IS NULL")
            segments = [f"{names.segments}/{name}.seg" for (name,) in rows]
            facts = copy.execute(_FACTS[names]).fetchone()
        files = [(names.record, scratch), *((name, folder / name) for name in segments)]
        try:
            version, documents, passages = facts
            sources = []
            for path, file in files:
                handle = stack.enter_context(os.fdopen(open_file(file, os.O_RDONLY), "rb"))
                sources.append(_Source(path, handle, os.fstat(handle.fileno()).st_size))
            return _Copy(version, documents, passages, sources)
        except FileNotFoundError:
            continue
    raise StoreError(
        f"{folder} changes too fast to be copied: publish again when less is written", path=str(folder)
    )


class _Upload:
    """Uploads the objects of files, each once."""

    def __init__(
        self, objects: ObjectFolder, total: int, progress: Callable[[PublishProgress], None] | None
    ) -> None:
        self._objects = objects
        self._total = total
        self._progress = progress
        self._present = self._listed()
        self._contents: dict[str, Callable[[], bytes]] = {}
        self._done = self._uploaded = 0
        self._needed: set[str] = set()

    def _listed(self) -> set[str]:
        return {name for name, _ in self._objects.list("objects")}

    def part(
        self, name: str, copy: _Copy, base: PublishedPart | None, blocks: Sequence[bytes] | None
    ) -> PublishedPart:
        """Upload the files of an index folder."""
        record, *segments = copy.files
        base_files = {file.path: file for file in base.files} if base else {}
        files = (self._record(record, base_files.get(record.path)), *map(self._blocks_of, segments))
        listing = base.listing if base and base.files == files else None
        if blocks is not None:
            listing = tuple(self._put(block, partial(bytes, block)) for block in blocks)
        part = PublishedPart(name, copy.version, copy.documents, copy.passages, files, listing)
        self._needed.update(map(object_name, part.objects()))
        return part

    def _blocks_of(self, source: _Source) -> PublishedFile:
        """Upload a file as blocks."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            blocks: list[str] = []
            starts = iter(range(0, source.size, BLOCK))
            while pieces := [(start, _read(source, start)) for start in islice(starts, _AT_ONCE)]:
                blocks += pool.map(lambda block: self._block(source, *block), pieces)
        return PublishedFile(source.path, source.size, tuple(blocks))

    def _record(self, source: _Source, base: PublishedFile | None) -> PublishedFile:
        """Upload a file that changes in place: the pages that changed, or the blocks where these are many."""
        tables = [page_hashes(_read(source, start)) for start in range(0, source.size, BLOCK)]
        pages = tuple(map(digest_of, tables))
        if base is not None and (base.pages, base.size) == (pages, source.size):
            self._tell(source.size)
            return base
        for table in tables:
            self._put(table, partial(bytes, table))
        patches = self._patches(source, tables, base) if base is not None and base.pages else None
        if base is None or patches is None:
            return replace(self._blocks_of(source), pages=pages)
        self._tell(source.size)
        return PublishedFile(source.path, source.size, base.blocks, patches, pages)

    def _patches(
        self, source: _Source, tables: Sequence[bytes], base: PublishedFile
    ) -> tuple[PublishedPatch, ...] | None:
        """Upload a patch of the changed pages, and return all patches; None where blocks are better.

        The last patches join the new one while they are not twice as large, so there are few.
        """
        numbers: set[int] = set()
        for number, table in enumerate(tables):
            base_table = b""
            if number < len(base.pages):
                if digest_of(table) == base.pages[number]:
                    continue
                base_table = self._objects.get(object_name(base.pages[number]))
            numbers.update((changed_pages(base_table, table) + number * (BLOCK // PAGE)).tolist())
        patches = list(base.patches)
        most_pages = source.size // _SHARE
        while patches and patches[-1].size <= 2 * len(numbers) * PAGE <= 2 * most_pages:
            last_pages = pages_of(self._objects.get(object_name(patches.pop().digest)))
            numbers.update(page for page in last_pages if page * PAGE < source.size)
        if len(numbers) * PAGE + sum(patch.size for patch in patches) > most_pages:
            return None
        encode = partial(encode_patch, source.file, source.size, sorted(numbers))
        patch = encode()
        return (*patches, PublishedPatch(self._put(patch, encode), len(patch)))

    def _block(self, source: _Source, start: int, data: bytes) -> str:
        digest = self._put(data, partial(_read, source, start))
        self._tell(len(data))
        return digest

    def _put(self, data: bytes, content: Callable[[], bytes]) -> str:
        """Upload an object, unless it is there, and return its digest; `content` gives it once more."""
        digest = digest_of(data)
        name = object_name(digest)
        if name not in self._present:
            self._objects.put(name, data)
            self._present.add(name)
            self._uploaded += len(data)
        self._contents[name] = content
        return digest

    def _tell(self, size: int) -> None:
        self._done += size
        if self._progress:
            self._progress(PublishProgress(self._done, self._total, self._uploaded))

    def check(self) -> None:
        """Upload again what somebody pruned meanwhile."""
        for name in sorted(self._needed - self._listed()):
            content = self._contents.get(name)
            # A deleted text may be overwritten meanwhile.
            if content is None or object_name(digest_of(data := content())) != name:
                url = self._objects.url
                raise StoreError(f"{url}/{name} was pruned meanwhile: publish again", path=url)
            self._objects.put(name, data)


def _read(source: _Source, start: int) -> bytes:
    source.file.seek(start)
    return source.file.read(BLOCK)
