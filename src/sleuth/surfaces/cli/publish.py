"""sleuth publish, versions, fetch: indexes in object storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, human_bytes, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import amount, console, say

AddressArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="s3://BUCKET/NAME, gs://…, az://… or file:///FOLDER.")
]

EXAMPLES = """[bold]Examples[/bold]

  sleuth publish s3://bucket/docs                       a new version of the nearest index
  sleuth publish --keep 5 s3://bucket/docs              and delete all but the newest five versions
  sleuth search --index s3://bucket/docs "how do I log in"
  sleuth search --index s3://bucket/docs@7 "how do I log in"      version 7
"""


@app.command("publish", epilog=EXAMPLES)
def publish(
    address: AddressArgument,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help="Delete all but this many of the newest versions.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Upload the index as a new version, if it has changed. Bytes that are already stored are not uploaded again."""
    from sleuth.cluster import prune
    from sleuth.cluster import publish as upload
    from sleuth.cluster.storage.publishing import PublishProgress

    uploaded = 0

    def show(now: PublishProgress) -> None:
        nonlocal uploaded
        uploaded = now.uploaded
        if not (quiet or json):
            status.update(f"{human_bytes(now.done)} of {human_bytes(now.total)}")

    with console(stderr=True).status("reading") as status:
        manifest = upload(index_folder(index), address, progress=show)
        pruned = prune(address, keep=keep) if keep else None
    if json:
        print_json(
            {
                "address": f"{address}@{manifest.number}",
                "version": manifest.number,
                "documents": manifest.documents,
                "passages": manifest.passages,
                "bytes": manifest.size,
                "uploaded": uploaded,
                "pruned": list(pruned.versions) if pruned else [],
            }
        )
    elif not quiet:
        say(
            f"Version {manifest.number} is published: {amount(manifest.documents, 'document')}, "
            f"{amount(manifest.passages, 'passage')}, "
            f"{human_bytes(manifest.size)}, of which {human_bytes(uploaded)} were uploaded."
        )


@app.command("versions", epilog="[bold]Example[/bold]  sleuth versions s3://bucket/docs")
def versions(address: AddressArgument, json: JsonOption = False) -> None:
    """List the versions of a published index, the newest first."""
    from sleuth.cluster import versions as listed

    manifests = listed(address)
    if json:
        print_json(
            [
                {
                    "version": manifest.number,
                    "published": manifest.published,
                    "documents": manifest.documents,
                    "passages": manifest.passages,
                    "shards": manifest.shards,
                    "bytes": manifest.size,
                }
                for manifest in manifests
            ]
        )
        return
    for manifest in manifests:
        say(
            f"{manifest.number:>5}  {manifest.published}  {manifest.documents:>12,} documents  "
            f"{human_bytes(manifest.size):>9}"
        )
    if not manifests:
        say("Nothing is published there.", err=True)
        raise typer.Exit(1)


@app.command("fetch", epilog="[bold]Example[/bold]  sleuth fetch s3://bucket/docs .sleuth")
def fetch(
    address: AddressArgument,
    folder: Annotated[Path, typer.Argument(help="A new folder for the index.")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Copy a published version into a new folder, where it can be changed, for example to restore a backup."""
    from sleuth.cluster import fetch as download

    def show(done: int, total: int) -> None:
        status.update(f"{human_bytes(done)} of {human_bytes(total)}")

    with console(stderr=True).status("reading") as status:
        manifest = download(address, folder, progress=None if quiet else show)
    if not quiet:
        say(f"Fetched version {manifest.number} into {folder}: {amount(manifest.documents, 'document')}.")
