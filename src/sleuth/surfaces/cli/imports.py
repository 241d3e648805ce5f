"""sleuth import: imports the documents and vectors of another store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say

EXAMPLES = """[bold]Examples[/bold]

  sleuth import chroma ./chroma_db --embedder ollama:nomic-embed-text --index ./index

  sleuth import chroma ./chroma_db --collection docs --re-embed
"""

imports = typer.Typer(
    name="import",
    help="Import the documents and vectors of another store.",
    no_args_is_help=True,
    epilog=EXAMPLES,
)
app.add_typer(imports)


@imports.callback()
def about() -> None:
    """Import the documents and vectors of another store."""


@imports.command("chroma", epilog=EXAMPLES)
def chroma(
    path: Annotated[Path, typer.Argument(help="Folder of the Chroma.")],
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Name of the collection; needed if there are several."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", help="Embedder that made the vectors, such as ollama:nomic-embed-text."),
    ] = None,
    re_embed: Annotated[
        bool, typer.Option("--re-embed", help="Discard the vectors and make new ones.")
    ] = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Import a collection of an embedded Chroma with its vectors; creates the index if there is none."""
    from sleuth.engine import Engine, import_chroma
    from sleuth.vector_store import read_chroma

    target = index_folder(index)
    next(read_chroma(path, collection), None)  # no new index for nothing
    with Engine.open(target, create=True, embedder=embedder) as engine:
        report = import_chroma(engine, path, collection, re_embed=re_embed)
    if json:
        print_json(report.to_dict())
    else:
        say(
            f"{report.added} documents added, {report.updated} updated, {report.unchanged} unchanged in {target}"
        )
