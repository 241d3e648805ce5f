"""Decides what a build reads: compares the files that are there with those that the published version lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import astuple, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sleuth.cluster import Manifest
from sleuth.cluster.shards import DEFAULT_SHARDS, Layout, encode
from sleuth.cluster.storage import digest_of, newest_version, object_name
from sleuth.engine import is_slow
from sleuth.errors import ArgumentError
from sleuth.ingest import (
    REFUSED,
    Diff,
    FileEntry,
    FileNames,
    ReadOptions,
    Skipped,
    present,
    roots_of,
    walk,
)
from sleuth.plugins.ray.listing import decode_listing
from sleuth.plugins.ray.reading import ListedFiles, PlannedFile
from sleuth.plugins.ray.sources import is_remote, walk_remote
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

    @property
    def bytes(self) -> int:
        """Bytes of the files that are read."""
        return sum(file.size for wave in self.waves for file in wave)


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
    full: Mapping[str, Any] = IndexSettings.from_dict(settings).to_dict()
    if base is not None:
        _check_base(base, source, shards, settings)
        full, shards = base.settings, base.shards
    count = Layout(DEFAULT_SHARDS if shards is None else shards).shards
    if options.loaders:
        raise ArgumentError(
            "loaders must be installed on every machine of a cluster (`sleuth.loaders`), got functions"
        )
    if str(full["embedder"]).startswith("custom:"):
        raise ArgumentError(
            "embedder must be one that every machine can open by its name, such as 'ollama:nomic-embed-text', "
            f"got {full['embedder']!r}"
        )
    listing = _listing_of(base, objects) if base else _Listing()
    # All machines see the files under the same absolute paths, and so they are named.
    remote = [str(path).rstrip("/") for path in paths if is_remote(path)]
    local = roots_of([path for path in paths if not is_remote(path)], FileNames())
    comparison = _compare(local, remote, listing, options, prune=prune)
    if base is None and not comparison.entries:
        raise ArgumentError(f"paths must hold files, got none below {', '.join(map(str, paths))}")
    if wave_bytes is None:
        wave_bytes = SLOW_WAVE_BYTES if is_slow(str(full["embedder"])) else WAVE_BYTES
    gone_files = [PlannedFile(row.name, row.name, 0, 0, row=row) for row in comparison.refused]
    gone_files += [PlannedFile("", row.name, 0, 0, row=row) for row in comparison.gone if prune]
    values = ((each.name, getattr(options, each.name)) for each in fields(options))
    reading = encode({name: list(value) if isinstance(value, tuple) else value for name, value in values})
    plain_files = list(map(astuple, comparison.entries)), [list(file[:4]) for file in gone_files]
    identity = (base.number if base else 0, count, dict(full), wave_bytes, plain_files)
    return Plan(
        name=digest_of(encode(identity) + reading),
        waves=list(_waves(map(listing.planned, comparison.entries), wave_bytes)),
        gone=gone_files,
        left=0 if prune else len(comparison.gone),
        unchanged=comparison.unchanged,
        skipped=comparison.skipped,
        shards=count,
        settings=full,
        options=reading,
        base=base,
    )


class _Comparison(NamedTuple):
    """Files that are there beside those of the index.

    Attributes:
        entries: files to read.
        gone: files of the index that are gone.
        refused: files of the index that are links or the like now.
        unchanged: documents of other files.
    """

    entries: list[FileEntry]
    gone: list[KnownFile]
    refused: list[KnownFile]
    unchanged: int
    skipped: list[Skipped]


def _compare(
    roots: Sequence[str], remote: Sequence[str], listing: _Listing, options: ReadOptions, *, prune: bool
) -> _Comparison:
    """List files and folders, and compare them with those that the index has below them."""
    diff = Diff(lambda: nullcontext(listing.rows), [*roots, *remote], FileNames())
    diff.read_with(options)
    here = present(roots, lambda root: any(listing.rows.file_names(root)), prune=prune)
    sources = [walk(here, options), *(walk_remote(root, options) for root in remote)]
    entries: list[FileEntry] = []
    skipped: list[Skipped] = []
    unchanged = 0
    for item in diff.compare(chain.from_iterable(sources)):
        if isinstance(item, Skipped):
            skipped.append(item)
            diff.skipped.add(item.source)
            continue
        diff.mark(item.source)
        if isinstance(item, FileEntry):
            entries.append(item)
        else:
            skipped += item.skips
            unchanged += 0 if item.skips else item.row.documents
    refused = {skip.source for skip in skipped if skip.kind in REFUSED} & listing.rows.keys()
    gone = [row for row, is_away in diff.missing() if is_away and row.documents]
    return _Comparison(
        entries, gone, [listing.rows[name] for name in diff.unread(sorted(refused))], unchanged, skipped
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
    for name, value in settings.items():
        if base.settings.get(name) != value:
            raise ArgumentError(
                f"{name} must be {base.settings.get(name)!r} as in the index at {source}, got {value!r}"
            )


def _waves(files: Iterable[PlannedFile], most: int) -> Iterator[list[PlannedFile]]:
    """Yield files in order, about so many bytes at a time."""
    wave: list[PlannedFile] = []
    size = 0
    for file in files:
        wave.append(file)
        size += file.size
        if size >= most:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


@dataclass
class _Listing:
    """The table of files of a version, joined from the listings of its shards.

    Attributes:
        rows: of all shards.
        is_complete: whether builders have listed all shards; else any shard may hold documents of a file.
    """

    rows: ListedFiles = field(default_factory=ListedFiles)
    is_complete: bool = True

    def planned(self, entry: FileEntry) -> PlannedFile:
        """Return a file with what is known of it."""
        unknown = None if self.is_complete else KnownFile(entry.source, _UNCOUNTED)
        row = self.rows.get(entry.source, unknown)
        return PlannedFile(entry.file, entry.source, entry.size, entry.modified_ns, entry.etag, row)


def _listing_of(base: Manifest, objects: ObjectFolder) -> _Listing:
    """Fetch and join the listings of all shards."""
    digests = [digest for part in base.parts for digest in part.listing or ()]
    listing = _Listing(is_complete=all(part.listing is not None for part in base.parts))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        contents = pool.map(objects.get, map(object_name, digests))
        for digest, content in zip(digests, contents, strict=True):
            for row in decode_listing(content, f"{objects.url}/{object_name(digest)}"):
                # Where shards are not listed, other documents of a file may have changed.
                known = row if listing.is_complete else row._replace(documents=_UNCOUNTED, version=None)
                listing.rows[row.name] = known
    return listing
