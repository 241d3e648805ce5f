"""sleuth cluster: an index in object storage, built and served on many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer
from annotated_types import Ge

from sleuth.errors import amount
from sleuth.ingest import grouped
from sleuth.surfaces.cli import (
    AddressArgument,
    Bar,
    Output,
    Reading,
    Settings,
    answer,
    command,
    files_read,
    gone_files,
    lines_of_report,
    listen,
    read_options,
    settings_of,
)
from sleuth.surfaces.cli.app import cluster_commands

if TYPE_CHECKING:
    from sleuth.ingest import ReadOptions

RayAddress = Annotated[
    str | None,
    typer.Option(
        "--address", help="A Ray cluster, as ray://HOST:PORT; without it, Ray is started on this machine."
    ),
]

EXAMPLES = """
  sleuth cluster index s3://bucket/docs docs/ --shards 4
  sleuth cluster index s3://bucket/docs data.parquet --text-field body --id-field url
  sleuth cluster index s3://bucket/docs s3://corpus/manuals --prune
  sleuth cluster index s3://bucket/docs /shared/corpus --address ray://head:10001
  sleuth cluster reshard s3://bucket/docs --shards 16
  sleuth cluster serve s3://bucket/docs --replicas 2
"""


@command(cluster_commands, "index", EXAMPLES)
def index(
    address: AddressArgument,
    paths: Annotated[list[str], "Files and folders that all machines see, or s3://… and gs://… folders."],
    *,
    fields: Reading,
    prune: bool = False,
    shards: int | None = None,
    ray_address: RayAddress = None,
    workers: Annotated[int | None, "Processes that build. Default: one for each core.", Ge(1)] = None,
    analyzer: str | None = None,
    chunk_size: int | None = None,
    embedder: str | None = None,
    show: Bar,
) -> Output:
    """Bring a published index up to date with files. Only what changed is read, fetched and uploaded.

    Large changes are made on a Ray cluster, small ones here, unless --address or --workers is given.
    """
    from sleuth.plugins.ray import index_on_ray

    options = cast("ReadOptions", read_options(fields, defaults=True))
    values = {"analyzer": analyzer, "chunk_size": chunk_size, "embedder": embedder}
    report = index_on_ray(
        address,
        paths,
        shards=shards,
        settings={name: value for name, value in values.items() if value is not None},
        options=options,
        ray_address=ray_address,
        workers=workers,
        prune=prune,
        progress=files_read(show),
    )
    lines = lines_of_report(report, f"{address}@{report.version}")
    lines += [gone_files(report.gone)] if report.gone else []
    return Output(report, lines, [f"skipped {line}" for line in grouped(report.skipped)])


@command(cluster_commands, "reshard", "sleuth cluster reshard s3://bucket/docs --shards 16")
def reshard(address: AddressArgument, *, shards: Annotated[int, "How many."], show: Bar) -> Output:
    """Publish an index once more, in another number of shards. Ids and results stay; restart servers afterwards."""
    from sleuth.plugins.ray import reshard as divide

    def progress(count: int, total: int) -> None:
        show(f"{count:,} of {total:,} documents", count, total)

    manifest = divide(address, shards, progress=progress)
    facts = {"version": manifest.number, "shards": manifest.shards, "documents": manifest.documents}
    place = f"{address}@{manifest.number}"
    line = f"{amount(manifest.documents, 'document')} in {amount(manifest.shards, 'shard')} at {place}"
    return Output({"address": place, **facts}, [line])


@command(cluster_commands, "serve", "sleuth cluster serve s3://bucket/docs --searchers 2 --replicas 2")
def serve(
    address: AddressArgument,
    *,
    settings: Settings,
    searchers: Annotated[int, "Divide the shards among so many processes.", Ge(1)] = 2,
    replicas: Annotated[int, "Run each of these so many times.", Ge(1)] = 1,
    follow: Annotated[float | None, "Look for a newer version every so many seconds."] = None,
    ray_address: RayAddress = None,
    quiet: Annotated[bool, "Log warnings only."] = False,
) -> None:
    """Serve a published index over HTTP until Ctrl-C, from searchers on Ray that each own some shards."""
    from sleuth.plugins.ray import RouterOptions, serve_from_ray

    valid = settings_of(settings, 1)
    options = RouterOptions(searchers=searchers, replicas=replicas)
    context = serve_from_ray(address, ray_address=ray_address, options=options, follow=follow)
    listener, url = listen(valid)  # says which package is missing
    from sleuth.plugins.ray.metrics import METRICS

    answer(listener, valid, lambda: context, quiet=quiet, url=url, more=[METRICS])
