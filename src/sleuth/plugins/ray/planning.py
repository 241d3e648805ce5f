"""Decides what a build reads: compares the files that are there with those that the published version lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.cluster import Manifest
from sleuth.cluster.shards import DEFAULT_SHARDS, Layout, encode
from sleuth.cluster.storage import SCHEMES, digest_of, newest_version, object_name
from sleuth.engine import check_settings, is_slow
from sleuth.errors import ArgumentError
from sleuth.ingest import (
    REFUSED,
    Diff,
    DiskFolders,
    FileEntry,
    FileNames,
    ReadOptions,
    Skipped,
    chosen,
    open_source,
    places_of,
    present,
)
from sleuth.plugins.ray.encoding import decode_listing
from sleuth.plugins.ray.reading import ListedFiles, PlannedFile
from sleuth.settings import IndexSettings
from sleuth.store import KnownFile

if TYPE_CHECKING:
    from sleuth.cluster.storage import Address, ObjectFolder

WAVE_BYTES = 1 << 30
"""Bytes of files between two uploads: after an interruption, at most so many are read again."""
SLOW_WAVE_BYTES = 1 << 26
"""The same where a model makes the vectors for minutes: what is embedded again after an interruption."""
_UNCOUNTED = 2
"""Stands for several documents of a file, in any shard."""
_AT_ONCE = 16
"""Blocks of listings that are fetched at the same time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a build does.

    Attributes:
        name: of the build: equal plans over an equal index are one build.
        waves: files that changed, in the order in which they are read.
        gone: files that are gone or hold no text any more: their documents are deleted after the last wave.
        left: how many other files are gone, whose documents stay.
        unchanged: documents of files that are as the index knows them.
        options: an encoded `ReadOptions`.
        base: the version that it extends.
    """

    name: str
    waves: list[list[PlannedFile]]
    gone: list[PlannedFile]
    left: int
    unchanged: int
    skipped: list[Skipped]
    shards: int
    settings: Mapping[str, Any]
    options: bytes
    base: Manifest | None


def plan_of(
    objects: ObjectFolder,
    source: Address,
    paths: Sequence[str | Path],
    shards: int | None,
    settings: Mapping[str, Any],
    options: ReadOptions,
    wave_bytes: int | None,
    prune: bool,
) -> Plan:
    """Compare files with the newest version at an address.

    Raises:
        ArgumentError: as `index_on_ray`.
        StoreError: the storage cannot be reached.
    """
    base = newest_version(objects)
    all_settings: Mapping[str, Any] = IndexSettings.from_dict(settings).to_dict()
    if base is not None:
        _check_base(base, source, shards, settings)
        all_settings, shards = base.settings, base.shards
    count = Layout(DEFAULT_SHARDS if shards is None else shards).shards
    embedder = str(all_settings["embedder"])
    _check_machines(embedder, options)
    rows, is_complete = _listed_files(base, objects)
    # All machines see the files under the same absolute paths, and so they are named.
    sources = [open_source(str(path)) for path in paths if is_remote(path)]
    folders = list(places_of([path for path in paths if not is_remote(path)], FileNames()).roots)
    diff = Diff(lambda: nullcontext(rows), [*folders, *(source.name for source in sources)], FileNames())
    diff.read_with(options)
    roots = present(folders, lambda root: any(rows.file_names(root)), prune=prune)
    listings = [chosen(source.list(diff.known), source, options) for source in sources]
    found = chain(DiskFolders(roots, options).list(), *listings)
    files, skips, unchanged = _compared(diff, found, rows, is_complete=is_complete)
    if base is None and not files:
        raise ArgumentError(f"paths must hold files, got none below {', '.join(map(str, paths))}")
    refused = sorted({skip.source for skip in skips if skip.kind in REFUSED} & rows.keys())
    gone_files = [PlannedFile(FileEntry(name, name, 0, 0), rows[name]) for name in diff.unread(refused)]
    missing_rows = [row for row, is_away in diff.missing() if is_away and row.documents]
    if prune:
        gone_files += [PlannedFile(FileEntry("", row.name, 0, 0), row) for row in missing_rows]
    if wave_bytes is None:
        wave_bytes = SLOW_WAVE_BYTES if is_slow(embedder) else WAVE_BYTES
    reading = encode({option.name: getattr(options, option.name) for option in fields(options)})
    entries = [file.entry for file in files], [file.entry for file in gone_files]
    identity = (base.number if base else 0, count, dict(all_settings), wave_bytes, *entries)
    return Plan(
        name=digest_of(encode(identity) + reading),
        waves=_waves(files, wave_bytes),
        gone=gone_files,
        left=0 if prune else len(missing_rows),
        unchanged=unchanged,
        skipped=skips,
        shards=count,
        settings=all_settings,
        options=reading,
        base=base,
    )


def _compared(
    diff: Diff, found: Iterable[FileEntry | Skipped], rows: ListedFiles, *, is_complete: bool
) -> tuple[list[PlannedFile], list[Skipped], int]:
    """Return the files that are new or changed, what is skipped, and how many documents are as they were."""
    files: list[PlannedFile] = []
    skips: list[Skipped] = []
    unchanged = 0
    for item in diff.compare(found):
        if isinstance(item, Skipped):
            skips.append(item)
            diff.skipped.add(item.source)
            continue
        diff.mark(item.source)
        if isinstance(item, FileEntry):
            unknown_row = None if is_complete else KnownFile(item.source, _UNCOUNTED)
            files.append(PlannedFile(item, rows.get(item.source, unknown_row)))
        else:
            skips += item.skips
            unchanged += 0 if item.skips else item.row.documents
    return files, skips, unchanged


def _waves(files: Sequence[PlannedFile], most: int) -> list[list[PlannedFile]]:
    """Divide files into waves, each of which ends once it holds `most` bytes."""
    waves: list[list[PlannedFile]] = []
    size = most
    for file in files:
        if size >= most:
            waves.append([])
            size = 0
        waves[-1].append(file)
        size += file.entry.size
    return waves


def is_remote(path: str | Path) -> bool:
    """Return whether a path is an address in object storage, such as `s3://bucket/docs`.

    Raises:
        ArgumentError: an address of another kind.
    """
    scheme, separator, path_text = str(path).partition("://")
    if not separator:
        return False
    if scheme not in SCHEMES or scheme == "file" or not path_text.strip("/"):
        raise ArgumentError(
            "paths must be files and folders that all machines see, or s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or "
            f"az://CONTAINER/FOLDER, got {str(path)!r}"
        )
    return True


def _check_machines(embedder: str, options: ReadOptions) -> None:
    """Refuse what only this process can open."""
    if options.loaders:
        raise ArgumentError(
            "loaders must be installed on every machine of a cluster (`sleuth.loaders`), got functions"
        )
    if embedder.startswith("custom:"):
        raise ArgumentError(
            "embedder must be one that every machine can open by its name, such as 'ollama:nomic-embed-text', "
            f"got {embedder!r}"
        )


def _check_base(base: Manifest, source: Address, shards: int | None, settings: Mapping[str, Any]) -> None:
    """Refuse to add to an index of other shards or settings."""
    if not base.shards:
        raise ArgumentError(
            f"address must be of an index with shards, got {source}, which has none: publish one that was made with "
            "`sleuth index --shards`, or choose another address"
        )
    if shards not in (None, base.shards):
        raise ArgumentError(f"shards must be {base.shards} as in the index at {source}, got {shards!r}")
    check_settings(settings, base.settings, source)


def _listed_files(base: Manifest | None, objects: ObjectFolder) -> tuple[ListedFiles, bool]:
    """Fetch and join the listings of all shards, and return whether each shard has one."""
    rows = ListedFiles()
    parts = base.parts if base else ()
    is_complete = all(part.listing is not None for part in parts)
    names = [object_name(digest) for part in parts for digest in part.listing or ()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for name, content in zip(names, pool.map(objects.get, names), strict=True):
            for row in decode_listing(content, f"{objects.url}/{name}"):
                # Where shards are not listed, other documents of a file may have changed.
                rows[row.name] = row if is_complete else row._replace(documents=_UNCOUNTED, version=None)
    return rows, is_complete
