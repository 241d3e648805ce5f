"""Decides what a build reads: compares the files that are there with those that the published version lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sleuth.cluster import Manifest
from sleuth.cluster.shards import DEFAULT_SHARDS, Layout, encode
from sleuth.cluster.storage import digest_of, newest_version, object_name
from sleuth.engine import is_slow
from sleuth.errors import ArgumentError
from sleuth.ingest import (
    EXCESS_NOTE,
    READ_NOTE,
    Excess,
    FileEntry,
    FileNames,
    KnownFile,
    KnownFiles,
    ReadOptions,
    Run,
    Skipped,
    Unchanged,
    is_below,
    is_gone,
    present,
    roots_of,
    walk,
)
from sleuth.plugins.ray.listing import ListedNote, decode_listing
from sleuth.plugins.ray.reading import PlannedFile, Sender, run_of
from sleuth.plugins.ray.sources import ETAG_NOTE, SourceObject, is_remote, walk_remote
from sleuth.settings import IndexSettings

if TYPE_CHECKING:
    from sleuth.cluster.storage import Address, ObjectFolder
    from sleuth.plugins.ray.builders import Builders

WAVE_BYTES = 1 << 30
"""Bytes of files between two uploads: after an interruption, at most so many are read again."""
SLOW_WAVE_BYTES = 1 << 26
"""The same where a model makes the vectors for minutes: what is embedded again after an interruption."""
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
    comparison = _compare(local, remote, listing, full, options, prune=prune)
    if base is None and not comparison.entries:
        raise ArgumentError(f"paths must hold files, got none below {', '.join(map(str, paths))}")
    if wave_bytes is None:
        wave_bytes = SLOW_WAVE_BYTES if is_slow(str(full["embedder"])) else WAVE_BYTES
    gone_files = comparison.refused + (comparison.gone if prune else [])
    values = ((each.name, getattr(options, each.name)) for each in fields(options))
    reading = encode({name: list(value) if isinstance(value, tuple) else value for name, value in values})
    plain_files = [list(map(astuple, some)) for some in (comparison.entries, gone_files)]
    identity = (base.number if base else 0, count, dict(full), wave_bytes, plain_files)
    return Plan(
        name=digest_of(encode(identity) + reading),
        waves=list(_waves(map(listing.planned, comparison.entries), wave_bytes)),
        gone=list(map(listing.planned, gone_files)),
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
    gone: list[FileEntry]
    refused: list[FileEntry]
    unchanged: int
    skipped: list[Skipped]


def _compare(
    roots: Sequence[str],
    remote: Sequence[str],
    listing: _Listing,
    settings: Mapping[str, Any],
    options: ReadOptions,
    *,
    prune: bool,
) -> _Comparison:
    """Walk files and folders, and compare them with those that the index has below them."""
    files = KnownFiles(
        (name, file)
        for name, file in listing.files.items()
        if any(is_below(name, root) for root in (*roots, *remote))
    )
    sender = Sender(cast("Builders", None), 1, None)  # nothing is sent
    run = run_of(sender, files, settings, options)
    entries: list[FileEntry] = []
    for record in walk(present(roots, files, prune=prune), options):
        if isinstance(record, Skipped):
            run.take(record)
        elif run.unchanged(record.source, record.size, record.modified_ns):
            run.take(Unchanged(record.source))
        else:
            entries.append(record)
    for item in (each for root in remote for each in walk_remote(root, options)):
        if isinstance(item, Skipped):
            run.take(item)
        elif _is_same(item, files, listing, run):
            run.take(Unchanged(item.entry.source))
        else:
            entries.append(item.entry)
            listing.etags[item.entry.source] = item.etag
    names = {entry.source for entry in entries}
    return _Comparison(
        entries,
        [
            FileEntry("", name, file.size, file.modified_ns)
            for name, file in sorted(files.items())
            if file.modified_ns is not None and not file.is_seen and name not in names and is_gone(name)
        ],
        [FileEntry(name, name, 0, 0) for name in sorted(run.refused) if not files[name].is_read],
        sum(file.documents for file in files.values() if file.is_read),
        run.report.skipped,
    )


def _is_same(file: SourceObject, files: Mapping[str, KnownFile], listing: _Listing, run: Run) -> bool:
    """Return whether an object has the ETag with which it was read, whatever its time."""
    source, size, modified_ns = file.entry.source, file.entry.size, file.entry.modified_ns
    known_file = files.get(source)
    if known_file is None or not file.etag or listing.etags.get(source) != file.etag:
        return False
    if known_file.modified_ns is not None:
        size, modified_ns = known_file.size, known_file.modified_ns
    return run.unchanged(source, size, modified_ns)


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
    """What the listings of a version say.

    Attributes:
        files: by name, without the ids of their documents.
        shards: that hold them.
        etags: of objects in object storage: as they were read, and as they are for those to be read.
        unlisted: shards that no builder has listed, which may hold documents of any file.
    """

    files: dict[str, KnownFile] = field(default_factory=dict)
    shards: dict[str, list[int]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    unlisted: list[int] = field(default_factory=list)

    def planned(self, entry: FileEntry) -> PlannedFile:
        """Return a file with what is known of it."""
        shards = (*self.shards.get(entry.source, ()), *self.unlisted)
        reading, excess = (self.notes.get(f"{note}{entry.source}", "") for note in (READ_NOTE, EXCESS_NOTE))
        return PlannedFile(
            entry.file,
            entry.source,
            entry.size,
            entry.modified_ns,
            shards,
            reading,
            excess,
            self.etags.get(entry.source, ""),
        )


def _listing_of(base: Manifest, objects: ObjectFolder) -> _Listing:
    """Fetch and join the listings of all shards."""
    listing = _Listing()
    blocks = [(number, digest) for number, part in enumerate(base.parts) for digest in part.listing or ()]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        contents = pool.map(objects.get, [object_name(digest) for _, digest in blocks])
        for (number, digest), content in zip(blocks, contents, strict=True):
            for entry in decode_listing(content, f"{objects.url}/{object_name(digest)}"):
                if isinstance(entry, ListedNote):
                    listing.notes[entry.name] = entry.value
                    continue
                file = listing.files.setdefault(entry.source, KnownFile())
                if entry.modified_ns is not None:
                    file.size, file.modified_ns = entry.size, entry.modified_ns
                file.documents += entry.documents
                listing.shards.setdefault(entry.source, []).append(number)
    listing.unlisted = [number for number, part in enumerate(base.parts) if part.listing is None]
    if listing.unlisted:  # the other documents of a file may have changed
        for file in listing.files.values():
            file.modified_ns = None
    for name, note in listing.notes.items():
        if (source := name.removeprefix(READ_NOTE)) != name and source in listing.files:
            listing.files[source].reading = note
        if (source := name.removeprefix(ETAG_NOTE)) != name:
            listing.etags[source] = note
        if (source := name.removeprefix(EXCESS_NOTE)) != name:
            listing.files.setdefault(source, KnownFile()).excess = Excess.from_note(note)
    return listing
