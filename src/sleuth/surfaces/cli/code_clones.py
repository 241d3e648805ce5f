"""sleuth code push, pull: the index of a repository for other clones of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.common import IndexOption, JsonOption, human_bytes, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say

AddressArgument = Annotated[
    str,
    typer.Argument(
        metavar="ADDRESS", help="A folder, a file ending with .tar, s3://BUCKET/NAME, gs://… or az://…."
    ),
]
PathArgument = Annotated[Path, typer.Argument(help="The repository.")]


def push(
    address: AddressArgument,
    path: PathArgument = Path(),
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, help="Delete all but this many of the newest commits.")
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Upload the index of the commit that is checked out. Bytes that are already stored are not uploaded again."""
    from sleuth.cluster.storage.code import push_code
    from sleuth.code.snapshots.clones import indexed_commit
    from sleuth.engine import open_code

    folder = index_folder(index)
    with open_code(folder) as storage:
        commit = indexed_commit(storage, path)
    manifest = push_code(folder, address, commit, keep=keep)
    if json:
        print_json({"commit": commit, "files": manifest.documents, "bytes": manifest.size})
    else:
        size = human_bytes(manifest.size)
        say(f"Pushed the index of commit {commit[:12]}: {manifest.documents:,} files, {size}.")


def pull(
    address: AddressArgument,
    path: PathArgument = Path(),
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Start this clone with the index of its commit, or of the newest ancestor that was pushed."""
    from sleuth.cluster.storage.code import pull_code
    from sleuth.code.repository.sources import source_at
    from sleuth.code.snapshots.clones import ancestors, relocate
    from sleuth.engine import open_code

    commits = ancestors(path)

    def prepare(folder: Path) -> None:
        with open_code(folder) as storage:
            relocate(storage, source_at(path).root)

    commit = pull_code(address, index_folder(index), commits, prepare)
    behind = commits.index(commit)
    if json:
        print_json({"commit": commit, "behind": behind})
    else:
        say(f"Pulled the index of commit {commit[:12]}" + (f", {behind:,} commits ago." if behind else "."))
