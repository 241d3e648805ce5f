"""sleuth cluster publish, versions, fetch: indexes in object storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sleuth.surfaces.cli.app import cluster_commands
from sleuth.surfaces.cli.common import IndexOption, JsonOption, human_bytes, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import amount, console, say

AddressArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help="s3://BUCKET/NAME, gs://…, az://… or file:///FOLDER.")
]

EXAMPLES = """[bold]Examples[/bold]

  sleuth cluster publish s3://bucket/docs                       a new version of the nearest index
  sleuth cluster publish --keep 5 s3://bucket/docs              and delete all but the newest five versions
  sleuth search --index s3://bucket/docs "how do I log in"
  sleuth search --index s3://bucket/docs@7 "how do I log in"      version 7
"""


@cluster_commands.command("publish", epilog=EXAMPLES)
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
        deleted = list(pruned.versions) if pruned else []
        address = f"{address}@{manifest.number}"
        print_json({"address": address, **plain(manifest), "uploaded": uploaded, "pruned": deleted})
    elif not quiet:
        say(
            f"Version {manifest.number} is published: {amount(manifest.documents, 'document')}, "
            f"{amount(manifest.passages, 'passage')}, "
            f"{human_bytes(manifest.size)}, of which {human_bytes(uploaded)} were uploaded."
        )


def plain(manifest: Any) -> dict[str, Any]:
    """Return what is said of a version, fit for JSON."""
    names = ("published", "documents", "passages", "shards")
    return {
        "version": manifest.number,
        **{name: getattr(manifest, name) for name in names},
        "bytes": manifest.size,
    }


@cluster_commands.command("versions", epilog="[bold]Example[/bold]  sleuth cluster versions s3://bucket/docs")
def versions(address: AddressArgument, json: JsonOption = False) -> None:
    """List the versions of a published index, the newest first."""
    from sleuth.cluster import versions as listed

    manifests = listed(address)
    if json:
        print_json(list(map(plain, manifests)))
        return
    for manifest in manifests:
        say(
            f"{manifest.number:>5}  {manifest.published}  {manifest.documents:>12,} documents  "
            f"{human_bytes(manifest.size):>9}"
        )
    if not manifests:
        say("Nothing is published there.", err=True)
        raise typer.Exit(1)


@cluster_commands.command(
    "fetch", epilog="[bold]Example[/bold]  sleuth cluster fetch s3://bucket/docs .sleuth"
)
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
