"""Builds or extends a published index: files are read and embedded, and shards built, in parallel on Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sleuth.cluster import Manifest
from sleuth.cluster.shards import decode
from sleuth.cluster.storage import Address, ObjectFolder, commit_version
from sleuth.engine import is_slow
from sleuth.errors import ArgumentError, StoreError
from sleuth.ingest import ReadOptions, Skipped
from sleuth.plugins.ray.builders import Builders, ProcessDiedError
from sleuth.plugins.ray.machines import Machines, RayMachines, ThisProcess, read_here
from sleuth.plugins.ray.planning import Plan, plan_of
from sleuth.plugins.ray.progress import Build, BuildProgress, BuildReport
from sleuth.plugins.ray.reading import PlannedFile
from sleuth.plugins.ray.router import error_named
from sleuth.remote import async_twin

SMALL_BYTES = 1 << 26
"""Bytes of changed files up to which this process reads them by itself: starting Ray takes longer."""
SMALL_SLOW_BYTES = 1 << 20
"""The same where a model makes the vectors for minutes."""
_ATTEMPTS = 3
"""Most restarts of a wave because a process died."""
_COUNTS = ("added", "updated", "unchanged", "deleted", "pruned")


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
    progress: Callable[[BuildProgress], None] | None = None,
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
    source = Address.parse(address)
    if source.version is not None:
        raise ArgumentError(f"address must be without a version, got {address!r}")
    objects = ObjectFolder(source.url)
    objects.check_create_only()
    plan = plan_of(
        objects, source, paths, shards, settings or {}, options or ReadOptions(), wave_bytes, prune
    )
    small = SMALL_SLOW_BYTES if is_slow(str(plan.settings["embedder"])) else SMALL_BYTES
    with ExitStack() as stack:
        machines: Machines
        if ray_address is None and workers is None and plan.bytes <= small:
            machines = ThisProcess(objects.url, plan)
        else:
            machines = RayMachines(stack, objects.url, plan, ray_address, workers)
        return _Attempt(machines, objects, plan, progress, started).run()


aindex_on_ray = async_twin(index_on_ray)


class _Attempt:
    """One attempt at a build."""

    def __init__(
        self,
        machines: Machines,
        objects: ObjectFolder,
        plan: Plan,
        progress: Callable[[BuildProgress], None] | None,
        started: float,
    ) -> None:
        self._machines, self._objects, self._plan = machines, objects, plan
        self._progress, self._started = progress, started
        self._build = Build(objects, plan.name)
        self._report = BuildReport(skipped=list(plan.skipped), unchanged=plan.unchanged, gone=plan.left)

    def run(self) -> BuildReport:
        """Read the waves that are left, and publish what they changed."""
        plan, report = self._plan, self._report
        waves: list[list[PlannedFile]] = [*plan.waves, []] if plan.gone else plan.waves
        finished_waves = self._build.waves()
        if finished_waves == 0 and waves and plan.base:
            self._build.record(0, plan.settings, plan.base.parts)
        report.resumed = sum(map(len, waves[:finished_waves]))
        self._bytes_before = sum(file.size for wave in waves[:finished_waves] for file in wave)
        builders = self._machines.start() if waves[finished_waves:] else None
        try:
            for wave, files in enumerate(waves[finished_waves:], finished_waves + 1):
                builders = self._wave(wave, files, builders or self._machines.start())
        finally:
            if builders:
                builders.end()
        manifest = self._publish()
        report.version, report.documents, report.passages = (
            manifest.number,
            manifest.documents,
            manifest.passages,
        )
        report.seconds = time.monotonic() - self._started
        return report

    def _wave(self, wave: int, files: Sequence[PlannedFile], builders: Builders) -> Builders:
        """Read a wave of files, or delete those that are gone, and upload the changes.

        Returns:
            The builders that hold its documents: new ones after a process died.
        """
        plan = self._plan
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                counts = self._read(files, builders)
                parts = dict(enumerate(self._build.parts())) | builders.upload()
            except ProcessDiedError as error:
                builders.end()
                if attempt == _ATTEMPTS:
                    raise StoreError(
                        f"files cannot be indexed: {error}", path=self._objects.url
                    ) from error.__cause__
                builders = self._machines.start()
            else:
                self._build.record(wave, plan.settings, tuple(parts[number] for number in range(plan.shards)))
                for name in ("read", "bytes", *_COUNTS, "skipped"):
                    setattr(self._report, name, getattr(self._report, name) + getattr(counts, name))
                break
        return builders

    def _read(self, files: Sequence[PlannedFile], builders: Builders) -> BuildReport:
        """Read files, whose documents go to the builders; without any, delete the documents of those that are gone."""
        counts = BuildReport()
        if not files:
            _count(counts, read_here(self._plan, builders, self._plan.gone, prune=True))
            return counts
        for row in self._machines.read(builders, files):
            _count(counts, row)
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

    def _publish(self) -> Manifest:
        """Publish the shards that the build uploaded, and return the manifest of the new version.

        If no shard changed, publish nothing and return the manifest of the base version. Then delete the saved progress
        of the build.

        Raises:
            StoreError: another build published a version meanwhile.
        """
        plan, parts = self._plan, self._build.parts()
        if plan.base is not None and parts in ((), plan.base.parts):
            manifest = plan.base
        else:
            manifest = commit_version(self._objects, plan.settings, plan.shards, parts, after=plan.base)
        self._build.forget()
        return manifest


def _count(counts: BuildReport, row: Mapping[str, Any]) -> None:
    """Add the counts of some files.

    Raises:
        SleuthError: the error that ended reading them.
    """
    if refusal := decode(row["refusal"]):
        raise error_named(*refusal)
    counts.read += int(row["files"])
    counts.bytes += int(row["bytes"])
    for name in _COUNTS:
        setattr(counts, name, getattr(counts, name) + int(row[name]))
    counts.skipped += [Skipped(*each) for each in decode(row["skipped"])]
