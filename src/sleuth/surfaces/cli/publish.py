"""sleuth cluster publish, versions, fetch: indexes in object storage."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from sleuth.errors import amount
from sleuth.surfaces.cli.app import cluster_commands
from sleuth.surfaces.cli.common import Output, human_bytes
from sleuth.surfaces.cli.options import command
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.progress import Bar, shows_bytes

AddressArgument = Annotated[str, "s3://BUCKET/NAME, gs://…, az://… or file:///FOLDER."]

EXAMPLES = """
  sleuth cluster publish s3://bucket/docs                       a new version of the nearest index
  sleuth cluster publish --keep 5 s3://bucket/docs              and delete all but the newest five versions
  sleuth search --index s3://bucket/docs "how do I log in"
  sleuth search --index s3://bucket/docs@7 "how do I log in"      version 7
"""


@command(cluster_commands, "publish", EXAMPLES)
def publish(
    address: AddressArgument,
    *,
    keep: Annotated[int | None, "Delete all but this many of the newest versions.", Ge(1)] = None,
    show: Bar,
    index: Path | None = None,
) -> Output:
    """Upload the index as a new version, if it has changed. Bytes that are already stored are not uploaded again."""
    from sleuth.cluster import prune
    from sleuth.cluster import publish as upload
    from sleuth.cluster.storage.publishing import PublishProgress

    uploaded = 0

    def show_bytes(now: PublishProgress) -> None:
        nonlocal uploaded
        uploaded = now.uploaded
        shows_bytes(show)(now.done, now.total)

    manifest = upload(index_folder(index), address, progress=show_bytes)
    pruned = prune(address, keep=keep).versions if keep else ()
    facts = {"address": f"{address}@{manifest.number}", **plain(manifest), "uploaded": uploaded}
    line = (
        f"Version {manifest.number} is published: {amount(manifest.documents, 'document')}, "
        f"{amount(manifest.passages, 'passage')}, "
        f"{human_bytes(manifest.size)}, of which {human_bytes(uploaded)} were uploaded."
    )
    return Output(facts | {"pruned": list(pruned)}, [line])


def plain(manifest: Any) -> dict[str, Any]:
    """Return what is said of a version, fit for JSON."""
    names = ("published", "documents", "passages", "shards")
    values = {name: getattr(manifest, name) for name in names}
    return {"version": manifest.number, **values, "bytes": manifest.size}


@command(cluster_commands, "versions", "sleuth cluster versions s3://bucket/docs")
def versions(address: AddressArgument) -> Output:
    """List the versions of a published index, the newest first."""
    from sleuth.cluster import versions as listed

    manifests = listed(address)
    lines = [
        f"{one.number:>5}  {one.published}  {amount(one.documents, 'document'):>22}  {human_bytes(one.size):>9}"
        for one in manifests
    ]
    facts = list(map(plain, manifests))
    return Output(facts, lines, found=facts, missing="nothing is published there")


@command(cluster_commands, "fetch", "sleuth cluster fetch s3://bucket/docs .sleuth")
def fetch(
    address: AddressArgument, folder: Annotated[Path, "A new folder for the index."], *, show: Bar
) -> Output:
    """Copy a published version into a new folder, where it can be changed, for example to restore a backup."""
    from sleuth.cluster import fetch as download

    manifest = download(address, folder, progress=shows_bytes(show))
    line = f"Fetched version {manifest.number} into {folder}: {amount(manifest.documents, 'document')}."
    return Output(plain(manifest), [line])
