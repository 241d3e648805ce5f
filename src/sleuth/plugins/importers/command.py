"""sleuth index import: imports the documents and vectors of another store."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from sleuth.surfaces.cli import (
    IndexOption,
    JsonOption,
    console,
    index_folder,
    new_or_open_index,
    print_json,
    say,
    with_options,
)
from sleuth.surfaces.cli.app import index_commands

if TYPE_CHECKING:
    from sleuth.plugins.importers.importing import ImportReport
    from sleuth.plugins.importers.stored import StoredVectors

EmbedderOption = Annotated[
    str | None,
    typer.Option("--embedder", help="Embedder that made the vectors, such as ollama:nomic-embed-text."),
]
ReEmbedOption = Annotated[bool, typer.Option("--re-embed", help="Discard the vectors and make new ones.")]

CollectionOption = Annotated[
    str | None,
    typer.Option("--collection", help="Name of the collection; needed if there are several."),
]
IdFieldOption = Annotated[str, typer.Option("--id-field", help="Field of the id.")]
TextFieldOption = Annotated[str, typer.Option("--text-field", help="Field of the text.")]

EXAMPLES = """[bold]Examples[/bold]

  sleuth index import chroma ./chroma_db --embedder ollama:nomic-embed-text --index ./index

  sleuth index import faiss ./faiss_index --embedder openai:text-embedding-3-small

  sleuth index import lancedb ./lancedb --table docs --re-embed

  sleuth index import qdrant http://localhost:6333 --collection docs --embedder ollama:nomic-embed-text

  sleuth index import elasticsearch dump.jsonl --text-field body

  sleuth index import vectors docs.parquet --text-field body --vector-field embedding --embedder ollama:nomic-embed-text

  sleuth index import vectors docs.jsonl --vectors docs.npy --embedder ollama:nomic-embed-text

An import that was broken off goes on when the command is run again.
"""


class ImportTarget(NamedTuple):
    """The index that an import goes to, and how.

    Attributes:
        embedder: spelling of the one that made the vectors.
        re_embed: whether the vectors are made again.
        json: whether the report is printed as JSON.
        folder: of the index; None for that of this folder.
    """

    embedder: str | None
    re_embed: bool
    json: bool
    folder: Path | None


def target_of(
    embedder: EmbedderOption = None,
    re_embed: ReEmbedOption = False,
    json: JsonOption = False,
    index: IndexOption = None,
) -> ImportTarget:
    """Return the target that options name."""
    return ImportTarget(embedder, re_embed, json, index)


takes_target = with_options("target", target_of)
"""Gives a command the options that all imports have; it gets them as `target`."""

imports = typer.Typer(
    name="import",
    help="Import the documents and vectors of another store.",
    no_args_is_help=True,
    epilog=EXAMPLES,
)
index_commands.add_typer(imports)


@imports.command("chroma", epilog=EXAMPLES)
@takes_target
def chroma(
    target: ImportTarget,
    path: Annotated[Path, typer.Argument(help="Folder of the Chroma.")],
    collection: CollectionOption = None,
) -> None:
    """Import a collection of an embedded Chroma with its vectors; creates a missing index."""
    from sleuth.plugins.importers import read_chroma

    _import(read_chroma(path, collection), target)


@imports.command("faiss", epilog=EXAMPLES)
@takes_target
def faiss(
    target: ImportTarget,
    path: Annotated[Path, typer.Argument(help="Folder that LangChain's FAISS saved.")],
    name: Annotated[str, typer.Option("--name", help="Name of its two files.")] = "index",
) -> None:
    """Import a FAISS of LangChain with its vectors. Its pickle is read as data: nothing in it is run."""
    from sleuth.plugins.importers import read_faiss

    _import(read_faiss(path, name), target)


@imports.command("lancedb", epilog=EXAMPLES)
@takes_target
def lancedb(
    target: ImportTarget,
    path: Annotated[Path, typer.Argument(help="Folder of the LanceDB.")],
    table: Annotated[
        str | None, typer.Option("--table", help="Name of the table; needed if there are several.")
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    vector_field: Annotated[str, typer.Option("--vector-field", help="Column of the vector.")] = "vector",
) -> None:
    """Import a table of LanceDB with its vectors."""
    from sleuth.plugins.importers import read_lancedb

    fields = {"text_field": text_field, "id_field": id_field, "vector_field": vector_field}
    _import(read_lancedb(path, table, **fields), target)


@imports.command("qdrant", epilog=EXAMPLES)
@takes_target
def qdrant(
    target: ImportTarget,
    place: Annotated[str, typer.Argument(help="Folder of local mode, or address of a server.")],
    collection: CollectionOption = None,
    text_field: Annotated[
        str, typer.Option("--text-field", help="Key of the text in the payload.")
    ] = "page_content",
    vector: Annotated[
        str, typer.Option("--vector", help="Name of the vector; needed if there are several.")
    ] = "",
) -> None:
    """Import a collection of Qdrant with its vectors. The key of a server comes from $QDRANT_API_KEY."""
    import os

    from sleuth.plugins.importers import read_qdrant

    key = os.environ.get("QDRANT_API_KEY") or None
    source = read_qdrant(place, collection, api_key=key, text_field=text_field, vector=vector)
    _import(source, target)


@imports.command("elasticsearch", epilog=EXAMPLES)
@takes_target
def elasticsearch(
    target: ImportTarget,
    path: Annotated[Path, typer.Argument(help="JSON lines: hits, or pages of a scroll.")],
    text_field: TextFieldOption = "text",
    vector_field: Annotated[
        str, typer.Option("--vector-field", help="Field of the vector; without it the index makes vectors.")
    ] = "",
) -> None:
    """Import a dump of Elasticsearch or OpenSearch, as a scroll or elasticdump writes it."""
    from sleuth.plugins.importers import read_elasticsearch

    source = read_elasticsearch(path, text_field=text_field, vector_field=vector_field)
    _import(source, target)


@imports.command("vectors", epilog=EXAMPLES)
@takes_target
def vectors(
    target: ImportTarget,
    path: Annotated[
        Path, typer.Argument(help="Rows with texts: .parquet, .arrow or .jsonl, or a folder of such.")
    ],
    vectors: Annotated[
        Path | None, typer.Option("--vectors", help="A numpy file (.npy) with a vector for each row.")
    ] = None,
    text_field: TextFieldOption = "text",
    id_field: IdFieldOption = "id",
    vector_field: Annotated[
        str, typer.Option("--vector-field", help="Field of the vector, where there is no numpy file.")
    ] = "vector",
) -> None:
    """Import rows with vectors from files of any size. Creates a missing index."""
    from sleuth.plugins.importers import read_vectors

    fields = {"text_field": text_field, "id_field": id_field, "vector_field": vector_field}
    _import(read_vectors(path, vectors, **fields), target)


def _import(source: StoredVectors, target: ImportTarget) -> None:
    """Import with a line of progress on a terminal, and print the result."""
    from sleuth.plugins.importers import import_vectors

    folder, err = index_folder(target.folder), console(stderr=True)
    whole = "" if source.count is None else f" of {source.count:,}"
    with new_or_open_index(folder, target.embedder) as engine, ExitStack() as stack:
        progress = None
        if err.is_terminal and not target.json:
            status = stack.enter_context(err.status(f"importing {source.name}"))

            def progress(now: ImportReport) -> None:
                status.update(f"{now.read:,}{whole} documents")

        report = import_vectors(engine, source, re_embed=target.re_embed, progress=progress)
    if target.json:
        print_json(report.to_dict())
        return
    blank = f", {report.blank:,} left out without text" if report.blank else ""
    say(
        f"{report.read:,}{whole} documents read: {report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged{blank} in {folder}"
    )
