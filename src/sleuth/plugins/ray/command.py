"""sleuth cluster: an index in object storage, built and served on many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sleuth.surfaces.cli import (
    AddressArgument,
    AnalyzerOption,
    ChunkSizeOption,
    EmbedderOption,
    JsonOption,
    PruneOption,
    QuietOption,
    ShardsOption,
    amount,
    answer,
    console,
    gone_files,
    grouped,
    human_bytes,
    listen,
    print_json,
    progress_bar,
    read_options,
    say,
    settings_of,
    takes_reading,
    takes_settings,
)
from sleuth.surfaces.cli.app import cluster_commands

if TYPE_CHECKING:
    from sleuth.ingest import ReadOptions

RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--address", help="A Ray cluster, as ray://HOST:PORT; without it, Ray is started on this machine."
    ),
]

EXAMPLES = """[bold]Examples[/bold]

  sleuth cluster index s3://bucket/docs docs/ --shards 4
  sleuth cluster index s3://bucket/docs data.parquet --text-field body --id-field url
  sleuth cluster index s3://bucket/docs s3://corpus/manuals --prune
  sleuth cluster index s3://bucket/docs /shared/corpus --address ray://head:10001
  sleuth cluster reshard s3://bucket/docs --shards 16
  sleuth cluster serve s3://bucket/docs --replicas 2
"""


@cluster_commands.command("index", epilog=EXAMPLES)
@takes_reading
def index(
    address: AddressArgument,
    paths: Annotated[
        list[str],
        typer.Argument(help="Files and folders that all machines see, or s3://… and gs://… folders."),
    ],
    fields: dict[str, Any],
    prune: PruneOption = False,
    shards: ShardsOption = None,
    ray_address: RayAddressOption = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that build. Default: one for each core.")
    ] = None,
    analyzer: AnalyzerOption = None,
    chunk_size: ChunkSizeOption = None,
    embedder: EmbedderOption = None,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Bring a published index up to date with files. Only what changed is read, fetched and uploaded.

    Large changes are made on a Ray cluster, small ones here, unless --address or --workers is given.
    """
    from sleuth.plugins.ray import index_on_ray

    options = cast("ReadOptions", read_options(fields, defaults=True))
    values = {"analyzer": analyzer, "chunk_size": chunk_size, "embedder": embedder}
    with progress_bar(visible=not (quiet or json)) as (show, _):
        report = index_on_ray(
            address,
            paths,
            shards=shards,
            settings={name: value for name, value in values.items() if value is not None},
            options=options,
            ray_address=ray_address,
            workers=workers,
            prune=prune,
            progress=show,
        )
    if json:
        print_json(report.to_dict())
    elif not quiet:
        say(
            f"{report.added:,} added, {report.updated:,} updated, {report.unchanged:,} unchanged, "
            f"{report.deleted + report.pruned:,} deleted in "
            f"{report.seconds:.1f} s ({human_bytes(report.bytes)} read).\n"
            f"{amount(report.documents, 'document')}, {amount(report.passages, 'passage')} "
            f"in {address}@{report.version}"
        )
        if report.gone:
            say(gone_files(report.gone))
    for line in grouped(report.skipped):
        say(f"Skipped: {line}", err=True)


@cluster_commands.command(
    "reshard", epilog="[bold]Example[/bold]  sleuth cluster reshard s3://bucket/docs --shards 16"
)
def reshard(
    address: AddressArgument,
    shards: Annotated[int, typer.Option("--shards", help="How many.")],
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Publish an index once more, in another number of shards. Ids and results stay; restart servers afterwards."""
    from sleuth.plugins.ray import reshard as divide

    def show(done: int, total: int) -> None:
        status.update(f"{done:,} of {total:,} documents")

    with console(stderr=True).status("reading") as status:
        manifest = divide(address, shards, progress=None if quiet or json else show)
    if json:
        values = {"version": manifest.number, "shards": manifest.shards, "documents": manifest.documents}
        print_json({"address": f"{address}@{manifest.number}", **values})
    elif not quiet:
        documents, divided = amount(manifest.documents, "document"), amount(manifest.shards, "shard")
        say(f"{documents} in {divided} at {address}@{manifest.number}")


@cluster_commands.command(
    "serve", epilog="[bold]Example[/bold]  sleuth cluster serve s3://bucket/docs --searchers 2 --replicas 2"
)
@takes_settings
def serve(
    address: AddressArgument,
    settings: dict[str, Any],
    searchers: Annotated[
        int, typer.Option("--searchers", min=1, help="Divide the shards among so many processes.")
    ] = 2,
    replicas: Annotated[int, typer.Option("--replicas", min=1, help="Run each of these so many times.")] = 1,
    follow: Annotated[
        float | None, typer.Option("--follow", help="Look for a newer version every so many seconds.")
    ] = None,
    ray_address: RayAddressOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Log warnings only.")] = False,
) -> None:
    """Serve a published index over HTTP until Ctrl-C, from searchers on Ray that each own some shards."""
    from sleuth.plugins.ray import RouterOptions, serve_from_ray
    from sleuth.plugins.ray.metrics import METRICS

    valid = settings_of(settings, 1)
    options = RouterOptions(searchers=searchers, replicas=replicas)
    context = serve_from_ray(address, ray_address=ray_address, options=options, follow=follow)
    listener, url = listen(valid)
    answer(listener, valid, lambda: context, quiet=quiet, url=url, more=[METRICS])
