"""Builds or extends a published index: files are read and embedded, and shards built, in parallel on Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sleuth.cluster.shards import decode
from sleuth.cluster.storage import Address, ObjectFolder, commit_version
from sleuth.engine import is_slow
from sleuth.errors import StoreError
from sleuth.ingest import IndexProgress, ReadOptions, Skipped
from sleuth.plugins.ray.builder import Build, BuildReport
from sleuth.plugins.ray.builders import Builders, ProcessDiedError, RayBuilders
from sleuth.plugins.ray.planning import Plan, plan_of
from sleuth.plugins.ray.reading import PlannedFile
from sleuth.plugins.ray.router import error_named
from sleuth.remote import async_twin

SMALL_BYTES = 1 << 26
"""Bytes of changed files up to which this process reads them by itself: starting Ray takes longer."""
SMALL_SLOW_BYTES = 1 << 20
"""The same where a model makes the vectors for minutes."""
_ATTEMPTS = 3
"""Most attempts at a wave, each after the first because a process died."""


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
    prune: bool = False,
    progress: Callable[[IndexProgress], None] | None = None,
) -> BuildReport:
    """Bring a published index up to date with files and folders, or make it; publish one version when all are read.

    Files that have not changed are not read, and only shards whose documents changed are fetched and uploaded. Where
    nothing changed, there is no new version. Where a build is broken off, the same call goes on after the last wave of
    files that was uploaded. A small change is made in this process, without Ray, if neither `ray_address` nor `workers`
    is given.

    Args:
        address: `s3://bucket/name`, without a version.
        paths: files and folders that all machines see under these names, or addresses such as `s3://bucket/folder`:
            text, Markdown, PDF, ..., Parquet, JSON lines.
        shards: how many, for a new index: 16 where None.
        settings: for a new index.
        ray_address: of a Ray cluster; None starts one on this machine.
        workers: processes that build shards; None for as many as the cluster has processors.
        options: which files are read, and how.
        wave_bytes: bytes of files between two uploads; None for 1 GiB, and 64 MiB where the embedder is slow.
        prune: whether to delete the documents of files below `paths` that are gone.
        progress: called as files are read.

    Raises:
        ArgumentError: paths that do not exist, shards and settings that are not those of the index, or an embedder
            that other processes cannot open by its name.
        EmbeddingError: the embedder does not answer.
        StoreError: the storage or the cluster cannot be reached, or processes die again and again.
    """
    started = time.monotonic()
    source = Address.parse(address, is_new=True)
    objects = ObjectFolder(source.url)
    objects.check_create_only()
    plan = plan_of(
        objects, source, paths, shards, settings or {}, options or ReadOptions(), wave_bytes, prune
    )
    small = SMALL_SLOW_BYTES if is_slow(str(plan.settings["embedder"])) else SMALL_BYTES
    size = sum(file.entry.size for wave in plan.waves for file in wave)
    is_small = ray_address is None and workers is None and size <= small
    with ExitStack() as stack:

        def start() -> Builders:
            if is_small:
                return Builders(objects.url, plan)
            return RayBuilders(objects.url, plan, stack, ray_address, workers)

        return _build(start, objects, plan, progress, started)


aindex_on_ray = async_twin(index_on_ray)


def _build(
    start: Callable[[], Builders],
    objects: ObjectFolder,
    plan: Plan,
    progress: Callable[[IndexProgress], None] | None,
    started: float,
) -> BuildReport:
    """Read the waves that are left, and publish what they changed.

    Args:
        start: starts builders, which go on after the last upload.

    Raises:
        StoreError: processes died again and again, or another build published a version meanwhile.
    """
    build = Build(objects, plan.name)
    waves: list[list[PlannedFile]] = [*plan.waves, []] if plan.gone else plan.waves
    finished_waves = build.waves()
    if finished_waves == 0 and waves and plan.base:
        build.record(0, plan.settings, plan.base.parts)
    report = BuildReport(
        skipped=list(plan.skipped),
        unchanged=plan.unchanged,
        gone=plan.left,
        resumed=sum(map(len, waves[:finished_waves])),
    )
    total_files = sum(map(len, plan.waves))

    def read(files: Sequence[PlannedFile], builders: Builders) -> BuildReport:
        """Read a wave of files, whose documents go to the builders; without files, delete the documents of gone ones.

        Raises:
            SleuthError: the error that ended reading them.
        """
        counts = BuildReport()
        reports = builders.read(plan, files) if files else [builders.read_here(plan, plan.gone, prune=True)]
        for data in reports:
            count_by_name, skips, refusal = decode(data)
            if refusal:
                raise error_named(*refusal)
            for name, count in count_by_name.items():
                setattr(counts, name, getattr(counts, name) + count)
            counts.skipped += [Skipped(*skip) for skip in skips]
            if progress is not None:
                files_read, size = report.resumed + report.read + counts.read, report.bytes + counts.bytes
                progress(IndexProgress(files_read, size, total_files, time.monotonic() - started))
        return counts

    builders: Builders | None = None
    try:
        for wave, files in enumerate(waves[finished_waves:], finished_waves + 1):
            for attempt in range(1, _ATTEMPTS + 1):
                builders = builders or start()
                try:
                    counts = read(files, builders)
                    parts = dict(enumerate(build.parts())) | builders.upload()
                    break
                except ProcessDiedError as error:
                    builders.end()
                    builders = None
                    if attempt == _ATTEMPTS:
                        message = f"files cannot be indexed: {error}"
                        raise StoreError(message, path=objects.url) from error.__cause__
            build.record(wave, plan.settings, tuple(parts[number] for number in range(plan.shards)))
            for name in ("read", "bytes", "added", "updated", "unchanged", "deleted", "pruned", "skipped"):
                setattr(report, name, getattr(report, name) + getattr(counts, name))
    finally:
        if builders:
            builders.end()
    manifest, published_parts = plan.base, build.parts()
    if manifest is None or published_parts not in ((), manifest.parts):
        manifest = commit_version(objects, plan.settings, plan.shards, published_parts, after=plan.base)
    build.forget()
    report.version, report.documents = manifest.number, manifest.documents
    report.passages, report.seconds = manifest.passages, time.monotonic() - started
    return report
