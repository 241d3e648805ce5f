"""Fetches published indexes: into a cache of this machine, or a folder of their own that can be written to.

The cache is bounded, checksummed, and shared between processes.
Contents are kept once, by their digest; a view of a version is a folder of hard links to them, which opens as an index.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TypeAlias

from sleuth import platform
from sleuth.cluster.shards import layout
from sleuth.cluster.shards.layout import Layout
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.manifest import (
    Manifest,
    PublishedFile,
    PublishedPart,
    PublishedPatch,
    digest_of,
    object_name,
)
from sleuth.cluster.storage.objects import ObjectFolder, ObjectMissingError
from sleuth.cluster.storage.patches import apply_patch
from sleuth.cluster.storage.versions import Address
from sleuth.errors import ArgumentError, IndexDamagedError, StoreError
from sleuth.files import user_folder, whole_file
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import DOCUMENTS, Names
from sleuth.store.record import mark

FOLDER_VARIABLE = "SLEUTH_CACHE"
BYTES_VARIABLE = "SLEUTH_CACHE_BYTES"
DEFAULT_BYTES = 50_000_000_000
_AT_ONCE = 4
"""Files that are fetched at the same time."""

_PAUSE = 0.05
"""Seconds between two looks at whether another process has fetched a version."""

_Missing: TypeAlias = list[tuple[Path, PublishedFile]]

Fetched = Callable[[int], None]
"""Told the size of each block that was fetched."""


class Cache:
    """Versions of published indexes, as folders of this machine.

    Attributes:
        folder: of the cache.
        limit: bytes that it may hold.
    """

    def __init__(self, folder: Path | None = None, limit: int | None = None) -> None:
        """Open the cache in a folder; None means $SLEUTH_CACHE or the user's own, of $SLEUTH_CACHE_BYTES."""
        default = os.environ.get(FOLDER_VARIABLE) or user_folder("XDG_CACHE_HOME", ".cache") / "published"
        self.folder = folder or Path(default)
        text = os.environ.get(BYTES_VARIABLE) or str(DEFAULT_BYTES)
        if limit is None and not (text.isascii() and text.isdigit()):
            raise ArgumentError(f"{BYTES_VARIABLE} must be a number of bytes, got {text!r}")
        self.limit = int(text) if limit is None else limit
        self._files, self._views = self.folder / "files", self.folder / "views"

    @contextmanager
    def view(self, manifest: Manifest, objects: ObjectFolder) -> Iterator[Path]:
        """Yield the folder of a version, whole, which stays while the block lasts.

        Raises:
            StoreError: the version does not fit the cache, or an object cannot be fetched.
            IndexDamagedError: an object is missing or damaged; names it.
        """
        if manifest.size > self.limit:
            raise StoreError(
                f"{BYTES_VARIABLE} must be at least {manifest.size}, the size of the index, got {self.limit}",
                path=str(self.folder),
            )
        name = digest_of(manifest.encode())
        for folder in (self._files, self._views):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        view = self._views / name
        files = [(view / part.folder / file.path, file) for part in manifest.parts for file in part.files]
        while True:
            with (self._views / f"{name}.lock").open("a+b") as lock:
                fd = lock.fileno()
                platform.lock(fd, shared=True)  # nobody evicts what is open
                while missing := [(path, file) for path, file in files if not _is_whole(path, file.size)]:
                    try:
                        platform.lock(fd, wait=False)  # one process fetches, the others wait for it
                    except BlockingIOError:
                        platform.unlock(fd)
                        time.sleep(_PAUSE)
                    else:
                        self._fill(view, missing, manifest, objects)
                    platform.lock(fd, shared=True)
                if os.fstat(fd).st_nlink:  # else it was evicted before it was locked, unseen by others
                    os.utime(lock.name)
                    yield view
                    return

    def _fill(self, view: Path, missing: _Missing, manifest: Manifest, objects: ObjectFolder) -> None:
        """Fetch what the folder of a version lacks."""
        with (self.folder / "lock").open("a+b") as lock:
            platform.lock(lock.fileno())  # what is fetched and not linked yet is not swept
            self._evict(sum(file.size for _, file in missing), view.name)
            # Small segments of several shards may be equal.
            contents = {file.name: file for _, file in missing}
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(lambda file: self._fetch(file, objects), contents.values()))
            for path, file in missing:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                os.link(self._files / file.name, path)
            for part in manifest.parts:
                mark.write(view / part.folder, part.version)

    def _fetch(self, file: PublishedFile, objects: ObjectFolder) -> None:
        """Fetch the content of a file, unless the cache has it; of a patched file it may have an earlier content."""
        content = self._files / file.name
        if _is_whole(content, file.size):
            return
        for count in reversed(range(len(file.patches))):
            earlier_content = self._files / replace(file, patches=file.patches[:count]).name
            if earlier_content.is_file():
                with whole_file(content) as out, earlier_content.open("rb") as source:
                    shutil.copyfileobj(source, out)
                    patch_file(out, file, file.patches[count:], objects)
                return
        fetch_file(file, content, objects)

    def size(self) -> int:
        """Bytes of all contents."""
        return sum(entry.stat().st_size for entry in os.scandir(self._files)) if self._files.is_dir() else 0

    def _evict(self, size: int, keep: str) -> None:
        """Remove the views that were opened longest ago until there is room; those that are open stay."""
        locks = sorted(self._views.glob("*.lock"), key=lambda lock: lock.stat().st_mtime)
        for path in locks:
            if self.size() + size <= self.limit:
                return
            if path.stem != keep:
                with suppress(BlockingIOError, FileNotFoundError), path.open("rb") as lock:
                    platform.lock(lock.fileno(), wait=False)
                    shutil.rmtree(self._views / path.stem, ignore_errors=True)
                    path.unlink()
                    self._sweep()
        self._sweep()
        if self.size() + size > self.limit:
            raise StoreError(
                f"the cache {self.folder} holds {self.size()} bytes that are in use and {size} more are needed: "
                f"raise {BYTES_VARIABLE}, which is {self.limit}",
                path=str(self.folder),
            )

    def _sweep(self) -> None:
        """Remove contents that no view links to."""
        for entry in os.scandir(self._files):
            if entry.stat().st_nlink == 1:
                Path(entry.path).unlink(missing_ok=True)


def fetch_file(
    file: PublishedFile,
    path: Path,
    objects: ObjectFolder,
    fetched: Fetched | None = None,
    *,
    durable: bool = True,
) -> None:
    """Fetch a file to a path, whole or not at all.

    Args:
        durable: whether to wait until the disk has it.

    Raises:
        IndexDamagedError: an object is missing or damaged; names it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file(path, durable=durable) as out:
        for digest in file.blocks:
            block = _object(digest, file, objects)
            out.write(block)
            if fetched:
                fetched(len(block))
        patch_file(out, file, file.patches, objects)


def patch_file(
    out: IO[bytes], file: PublishedFile, patches: Sequence[PublishedPatch], objects: ObjectFolder
) -> None:
    """Apply patches to a file, which then has its size.

    Raises:
        IndexDamagedError: an object is missing or damaged, or the size is not the published one.
    """
    try:
        for patch in patches:
            apply_patch(_object(patch.digest, file, objects), out)
    except (ValueError, OverflowError) as error:
        raise IndexDamagedError(f"a patch of {file.path} is damaged: {error}", path=objects.url) from error
    if out.seek(0, os.SEEK_END) != file.size:
        raise IndexDamagedError(
            f"{file.path} must have {file.size} bytes, got {out.tell()}: publish again", path=objects.url
        )


def _object(digest: str, file: PublishedFile, objects: ObjectFolder) -> bytes:
    """Return the content of an object that a file needs."""
    where = f"{objects.url}/{object_name(digest)}"
    what = f"{where}, a part of {file.path}, is"
    try:
        data = objects.get(object_name(digest))
    except ObjectMissingError as error:
        raise IndexDamagedError(f"{what} missing: publish again", path=where) from error
    if digest_of(data) != digest:
        raise IndexDamagedError(f"{what} damaged: delete it and publish again", path=where)
    return data


def _is_whole(path: Path, size: int) -> bool:
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.stat().st_size == size
    return False


def fetch_part(
    part: PublishedPart,
    folder: Path,
    objects: ObjectFolder,
    fetched: Fetched | None = None,
    names: Names = DOCUMENTS,
    *,
    durable: bool = True,
) -> None:
    """Fetch one part of a version into a folder, which is then an index that can be changed.

    Args:
        durable: whether to wait until the disk has it; not for a copy that is deleted soon.

    Raises:
        IndexDamagedError: an object is missing or damaged; names it.
    """
    (folder / names.segments).mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in part.files:
        fetch_file(file, folder / file.path, objects, fetched, durable=durable)
    if names == DOCUMENTS:  # of code, opening notes the version
        mark.write(folder, part.version)


def fetch(
    address: str, folder: str | Path, *, progress: Callable[[int, int], None] | None = None
) -> Manifest:
    """Fetch a version of a published index into a new folder.

    Args:
        address: `s3://bucket/name`, the newest version, or `s3://bucket/name@7`.
        folder: that does not exist, or is empty.
        progress: called with bytes fetched and bytes to fetch.

    Raises:
        ArgumentError: a folder that holds something.
        IndexNotFoundError: no such version.
        IndexDamagedError: an object is missing or damaged; names it. Nothing is left in `folder`.
    """
    source, target = Address.parse(address), folder_at(folder)
    if target.exists() and any(target.iterdir()):
        raise ArgumentError(f"folder must be new or empty, got {str(folder)!r}")
    objects = ObjectFolder(source.url)
    manifest = versions.find_version(source, objects)
    received = 0

    def fetched(size: int) -> None:
        nonlocal received
        received += size
        if progress:
            progress(received, manifest.size)

    unfinished = target.with_name(f"{target.name}.fetching")
    try:
        for part in manifest.parts:
            fetch_part(part, unfinished / part.folder, objects, fetched)
        if manifest.shards:
            layout.write(unfinished, Layout(manifest.shards))
        if target.exists():
            target.rmdir()
        unfinished.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return manifest
