"""sleuth import: imports the documents and vectors of another store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, print_json
from sleuth.surfaces.cli.places import index_folder
from sleuth.surfaces.cli.terminal import say

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.ingest import AddReport

EmbedderOption = Annotated[
    str | None,
    typer.Option("--embedder", help="Embedder that made the vectors, such as ollama:nomic-embed-text."),
]
ReEmbedOption = Annotated[bool, typer.Option("--re-embed", help="Discard the vectors and make new ones.")]

EXAMPLES = """[bold]Examples[/bold]

  sleuth import chroma ./chroma_db --embedder ollama:nomic-embed-text --index ./index

  sleuth import chroma ./chroma_db --collection docs --re-embed

  sleuth import vectors docs.parquet --text-field body --vector-field embedding --embedder ollama:nomic-embed-text

  sleuth import vectors docs.jsonl --vectors docs.npy --embedder ollama:nomic-embed-text
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
    embedder: EmbedderOption = None,
    re_embed: ReEmbedOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Import a collection of an embedded Chroma with its vectors; creates a missing index."""
    from sleuth.engine import import_chroma
    from sleuth.vector_store import read_chroma

    target = index_folder(index)
    next(read_chroma(path, collection), None)  # no new index for nothing
    with _index_at(target, embedder) as engine:
        report = import_chroma(engine, path, collection, re_embed=re_embed)
    _show(report, target, json=json)


@imports.command("vectors", epilog=EXAMPLES)
def vectors(
    path: Annotated[Path, typer.Argument(help="Rows with texts: .parquet or .jsonl.")],
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="A numpy file (.npy) with a vector for each row.")
    ] = None,
    text_field: Annotated[str, typer.Option("--text-field", help="Field of the text.")] = "text",
    id_field: Annotated[str, typer.Option("--id-field", help="Field of the id.")] = "id",
    vector_field: Annotated[
        str, typer.Option("--vector-field", help="Field of the vector, where there is no numpy file.")
    ] = "vector",
    embedder: EmbedderOption = None,
    re_embed: ReEmbedOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Import rows with vectors from files of any size. Creates a missing index."""
    from sleuth.engine import import_vectors

    target = index_folder(index)
    fields = {"text_field": text_field, "id_field": id_field, "vector_field": vector_field}
    with _index_at(target, embedder) as engine:
        report = import_vectors(engine, path, vectors, re_embed=re_embed, **fields)
    _show(report, target, json=json)


@contextmanager
def _index_at(folder: Path, embedder: str | None) -> Iterator[Engine]:
    """Open or make the index in a folder; a new one that is still empty after a failure is deleted."""
    from sleuth.engine import Engine

    is_new = not folder.exists() or not any(folder.iterdir())
    is_empty = False
    try:
        with Engine.open(folder, create=True, embedder=embedder) as engine:
            try:
                yield engine
            except BaseException:
                is_empty = not engine.count().documents
                raise
    except BaseException:
        if is_new and is_empty:
            rmtree(folder)
        raise


def _show(report: AddReport, target: Path, *, json: bool) -> None:
    if json:
        print_json(report.to_dict())
    else:
        say(
            f"{report.added} documents added, {report.updated} updated, {report.unchanged} unchanged in {target}"
        )
