"""Builds or extends a published index on Ray: files are read and embedded in parallel, shards are built in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sleuth.cluster.ray.builder import ShardBuilder
from sleuth.cluster.ray.progress import Build, BuildProgress, BuildReport
from sleuth.cluster.ray.reading import read_files
from sleuth.cluster.ray.router import error_named
from sleuth.cluster.ray.session import ray_session
from sleuth.cluster.shards.layout import DEFAULT_SHARDS, Layout
from sleuth.cluster.shards.wire import decode, encode
from sleuth.cluster.storage import versions
from sleuth.cluster.storage.address import Address
from sleuth.cluster.storage.manifest import Manifest, digest_of
from sleuth.cluster.storage.objects import ObjectFolder
from sleuth.cluster.storage.publishing import commit_version
from sleuth.engine import is_slow
from sleuth.errors import ArgumentError, IndexNotFoundError, StoreError
from sleuth.ingest import FileEntry, FileNames, ReadOptions, Skipped, present, roots_of, walk
from sleuth.remote import async_twin
from sleuth.settings import IndexSettings

if TYPE_CHECKING:
    from sleuth.cluster.storage.manifest import PublishedPart

WAVE_BYTES = 1 << 30
"""Bytes of files between two uploads: the most that is read again after an interruption."""
SLOW_WAVE_BYTES = 1 << 26
"""The same where a model makes the vectors for minutes: what is embedded again after an interruption."""
_ATTEMPTS = 3
"""Most restarts of a wave because a process died."""
_FILES = 16
"""Files that a task reads at most."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a build does.

    Attributes:
        name: of the build: equal plans over an equal index are one build.
        waves: files, in the order in which they are read.
        base: the version that it extends.
    """

    name: str
    waves: list[list[FileEntry]]
    skipped: list[Skipped]
    shards: int
    settings: Mapping[str, Any]
    options: bytes
    base: Manifest | None


def index_on_ray(
    address: str,
    paths: Sequence[str | Path],
    *,
    shards: int | None = None,
    settings: Mapping[str, Any] | None = None,
    options: ReadOptions | None = None,
    ray_address: str | None = None,
    workers: int | None = None,
    wave_bytes: int | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
) -> BuildReport:
    """Add files to a published index, or make it, and publish one version when all are read.

    Where a build is broken off, the same call goes on after the last wave of files that was uploaded. Documents whose
    content is in the index already are skipped.

    Args:
        address: `s3://bucket/name`, without a version.
        paths: files and folders that all machines see under these names: text, Markdown, PDF, ..., Parquet, JSON lines.
        shards: how many, for a new index: 16 where None.
        settings: for a new index.
        ray_address: of a Ray cluster; None starts one on this machine.
        workers: processes that build shards; None for as many as the cluster has processors.
        wave_bytes: bytes of files between two uploads; None for 1 GiB, and 64 MiB where the embedder is slow.

    Raises:
        ArgumentError: paths that do not exist, shards and settings that are not those of the index, or an embedder
            that other processes cannot open by its name.
        EmbeddingError: the embedder does not answer.
        StoreError: the storage or the cluster cannot be reached, or processes die again and again.
    """
    started = time.monotonic()
    source = Address.parse(address)
    if source.version is not None:
        raise ArgumentError(f"address must be without a version, got {address!r}")
    if remote := [str(path) for path in paths if "://" in str(path)]:
        raise ArgumentError(
            "paths must be files and folders that all machines see under these names, got "
            f"{', '.join(remote)}: mount the storage on each machine, or copy it to a folder that they share"
        )
    objects = ObjectFolder(source.url)
    objects.check_create_only()
    plan = _plan(objects, source, paths, shards, settings or {}, options or ReadOptions(), wave_bytes)
    with ray_session(ray_address, cpus=workers) as ray:
        return _Attempt(ray, objects, plan, workers, progress, started).run()


aindex_on_ray = async_twin(index_on_ray)


def _plan(  # noqa: PLR0917 - what `index_on_ray` was given
    objects: ObjectFolder,
    source: Address,
    paths: Sequence[str | Path],
    shards: int | None,
    settings: Mapping[str, Any],
    options: ReadOptions,
    wave_bytes: int | None,
) -> _Plan:
    base = None
    with suppress(IndexNotFoundError):
        base = versions.find(source, objects)
    full: Mapping[str, Any] = IndexSettings.from_dict(settings).to_dict()
    if base is not None:
        _check_base(base, source, shards, settings)
        full, shards = base.settings, base.shards
    count = Layout(DEFAULT_SHARDS if shards is None else shards).shards
    if options.loaders:
        raise ArgumentError(
            "loaders must be installed on every machine of a cluster (`sleuth.loaders`), got functions"
        )
    # All machines see the files under the same absolute paths, and so they are named.
    roots = present(roots_of(paths, FileNames()), (), prune=False)
    records = list(walk(roots, options))
    entries = [record for record in records if isinstance(record, FileEntry)]
    skips = [record for record in records if isinstance(record, Skipped)]
    if not entries and base is None:
        raise ArgumentError(f"paths must hold files, got none below {', '.join(roots)}")
    embedder = str(full["embedder"])
    if embedder.startswith("custom:"):
        raise ArgumentError(
            "embedder must be one that every machine can open by its name, such as 'ollama:nomic-embed-text', "
            f"got {embedder!r}"
        )
    if wave_bytes is None:
        wave_bytes = SLOW_WAVE_BYTES if is_slow(embedder) else WAVE_BYTES
    reading = encode({each.name: _plain(getattr(options, each.name)) for each in fields(options)})
    identity = (base.number if base else 0, count, dict(full), wave_bytes, list(map(astuple, entries)))
    name = digest_of(encode(identity) + reading)
    return _Plan(name, list(_waves(entries, wave_bytes)), skips, count, full, reading, base)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


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


def _waves(entries: Sequence[FileEntry], most: int) -> Iterator[list[FileEntry]]:
    """Yield files in order, about so many bytes at a time."""
    wave: list[FileEntry] = []
    for entry in entries:
        wave.append(entry)
        if sum(each.size for each in wave) >= most:
            yield wave
            wave = []
    if wave:
        yield wave


class _Attempt:
    """One attempt at a build."""

    def __init__(  # noqa: PLR0917 - what `index_on_ray` was given
        self,
        ray: Any,
        objects: ObjectFolder,
        plan: _Plan,
        workers: int | None,
        progress: Callable[[BuildProgress], None] | None,
        started: float,
    ) -> None:
        self._ray, self._objects, self._plan = ray, objects, plan
        self._progress, self._started = progress, started
        self._build = Build(objects, plan.name)
        self._report = BuildReport(skipped=list(plan.skipped))
        self._workers = min(plan.shards, workers or int(ray.cluster_resources().get("CPU", 1)))

    def run(self) -> BuildReport:
        """Read the waves that are left, and publish what they changed."""
        plan, report = self._plan, self._report
        finished_waves = self._build.waves()
        if finished_waves == 0 and plan.base:
            self._build.record(0, plan.settings, plan.base.parts)
        report.resumed = sum(map(len, plan.waves[:finished_waves]))
        self._bytes_before = sum(entry.size for wave in plan.waves[:finished_waves] for entry in wave)
        builders = self._builders()
        try:
            for wave, entries in enumerate(plan.waves[finished_waves:], finished_waves + 1):
                builders = self._wave(wave, entries, builders)
        finally:
            for builder in builders:
                with suppress(self._ray.exceptions.RayError):
                    self._ray.get(builder.close.remote(), timeout=60)
                self._ray.kill(builder)
        manifest = self._publish()
        report.version, report.documents, report.passages = (
            manifest.number,
            manifest.documents,
            manifest.passages,
        )
        report.seconds = time.monotonic() - self._started
        return report

    def _builders(self) -> list[Any]:
        plan = self._plan
        remote = self._ray.remote(ShardBuilder).options(num_cpus=0, scheduling_strategy="SPREAD")
        return [
            remote.remote(
                self._objects.url,
                plan.name,
                tuple(range(number, plan.shards, self._workers)),
                plan.shards,
                dict(plan.settings),
            )
            for number in range(self._workers)
        ]

    def _wave(self, wave: int, entries: Sequence[FileEntry], builders: list[Any]) -> list[Any]:
        """Read a wave of files and upload its changes; restarts with new builders when a process dies.

        Returns:
            The builders that hold its documents.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                counts = self._read(entries, builders)
                parts = self._upload(builders)
            except self._ray.exceptions.RayError as error:
                if attempt == _ATTEMPTS:
                    raise StoreError(
                        f"files cannot be indexed: {str(error).strip().rpartition(chr(10))[2]}",
                        path=self._objects.url,
                    ) from error
                for builder in builders:
                    self._ray.kill(builder)
                builders = self._builders()
            else:
                self._build.record(wave, self._plan.settings, parts)
                for name in ("read", "bytes", "added", "updated", "unchanged", "skipped"):
                    setattr(self._report, name, getattr(self._report, name) + getattr(counts, name))
                break
        return builders

    def _read(self, entries: Sequence[FileEntry], builders: list[Any]) -> BuildReport:
        """Read files in parallel, whose documents go to the builders; return the counts."""
        plan = self._plan
        rows = [{"entry": encode(list(astuple(entry)))} for entry in entries]
        tasks = max(self._workers * 2, -(-len(rows) // _FILES))
        options = {
            "builders": builders,
            "shards": plan.shards,
            "settings": dict(plan.settings),
            "options": plan.options,
        }
        data = self._ray.data.from_items(rows, override_num_blocks=min(tasks, len(rows)))
        counts = BuildReport()
        for row in data.map_batches(read_files, batch_size=_FILES, fn_kwargs=options).iter_rows():
            if refusal := decode(row["refusal"]):
                raise error_named(*refusal)
            counts.read += int(row["files"])
            counts.bytes += int(row["bytes"])
            counts.added += int(row["added"])
            counts.updated += int(row["updated"])
            counts.unchanged += int(row["unchanged"])
            counts.skipped += [Skipped(*each) for each in decode(row["skipped"])]
            self._tell(counts)
        return counts

    def _tell(self, counts: BuildReport) -> None:
        """Tell how far the build is, with the wave at hand."""
        if self._progress is None:
            return
        report, plan = self._report, self._plan
        files, size = report.read + counts.read, report.bytes + counts.bytes
        self._progress(
            BuildProgress(
                files=report.resumed + files,
                total_files=sum(map(len, plan.waves)),
                bytes=self._bytes_before + size,
                total_bytes=sum(entry.size for wave in plan.waves for entry in wave),
                documents=sum(
                    getattr(each, name)
                    for each in (report, counts)
                    for name in ("added", "updated", "unchanged")
                ),
                seconds=time.monotonic() - self._started,
                own_bytes=size,
            )
        )

    def _upload(self, builders: Sequence[Any]) -> tuple[PublishedPart, ...]:
        """Upload all shards; their parts, by number."""
        parts: dict[int, PublishedPart] = {}
        for reply in self._ray.get([builder.upload.remote() for builder in builders]):
            parts |= decode(reply)
        return tuple(parts[number] for number in range(self._plan.shards))

    def _publish(self) -> Manifest:
        """Publish the shards that the build uploaded, and return the manifest of the new version.

        If no shard changed, publish nothing and return the manifest of the base version. Then delete the saved progress
        of the build.
        """
        plan, parts = self._plan, self._build.parts()
        if plan.base is not None and parts == plan.base.parts:
            manifest = plan.base
        else:
            manifest = commit_version(self._objects, plan.settings, plan.shards, parts)
        self._build.forget()
        return manifest
