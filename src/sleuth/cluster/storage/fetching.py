"""Fetches a published version into a folder of its own: a copy that can be written to, as from a backup."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from sleuth.cluster.shards import layout
from sleuth.cluster.shards.layout import Layout
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.address import Address
from sleuth.cluster.storage.cache import Fetched, fetch_file
from sleuth.cluster.storage.manifest import Manifest, PublishedPart
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.errors import ArgumentError
from sleuth.store.catalogue.schema import folder_at
from sleuth.store.catalogue.segment_files import sync_folder
from sleuth.store.disk.files import DOCUMENTS, Names
from sleuth.store.store import Store


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
        Store.note_version(folder, part.version)


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

    partial = target.with_name(f"{target.name}.fetching")
    try:
        for part in manifest.parts:
            fetch_part(part, partial / part.folder, objects, fetched)
        if manifest.shards:
            layout.write(partial, Layout(manifest.shards))
        if target.exists():
            target.rmdir()
        partial.rename(target)
        sync_folder(target.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return manifest
