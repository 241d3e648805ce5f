"""sleuth index import: imports the documents and vectors of another store."""

from __future__ import annotations

import os
from contextlib import ExitStack
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sleuth.plugins import importers
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
    from collections.abc import Mapping

    from sleuth.plugins.importers.importing import ImportReport
    from sleuth.plugins.importers.stored import StoredVectors

EmbedderOption = Annotated[
    str | None,
    typer.Option("--embedder", help="Embedder that made the vectors, such as ollama:nomic-embed-text."),
]
ReEmbedOption = Annotated[bool, typer.Option("--re-embed", help="Discard the vectors and make new ones.")]

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


FIELDS = {"text_field": "Field of the text.", "id_field": "Field of the id."}
SEVERAL = "needed if there are several."
READERS = {
    "chroma": (
        "Import a collection of an embedded Chroma with its vectors; creates a missing index.",
        {"path": "Folder of the Chroma.", "collection": f"Name of the collection; {SEVERAL}"},
    ),
    "faiss": (
        "Import a FAISS of LangChain with its vectors. Its pickle is read as data: nothing in it is run.",
        {"path": "Folder that LangChain's FAISS saved.", "name": "Name of its two files."},
    ),
    "lancedb": (
        "Import a table of LanceDB with its vectors.",
        {"path": "Folder of the LanceDB.", "table": f"Name of the table; {SEVERAL}", **FIELDS,
         "vector_field": "Column of the vector."},
    ),
    "qdrant": (
        "Import a collection of Qdrant with its vectors. The key of a server comes from $QDRANT_API_KEY.",
        {"place": "Folder of local mode, or address of a server.", "collection": f"Name of the collection; {SEVERAL}",
         "text_field": "Key of the text in the payload.", "vector": f"Name of the vector; {SEVERAL}"},
    ),
    "elasticsearch": (
        "Import a dump of Elasticsearch or OpenSearch, as a scroll or elasticdump writes it.",
        {"path": "JSON lines: hits, or pages of a scroll.", "text_field": FIELDS["text_field"],
         "vector_field": "Field of the vector; without it the index makes vectors."},
    ),
    "vectors": (
        "Import rows with vectors from files of any size. Creates a missing index.",
        {"path": "Rows with texts: .parquet, .arrow or .jsonl, or a folder of such.",
         "vectors": "A numpy file (.npy) with a vector for each row.", **FIELDS,
         "vector_field": "Field of the vector, where there is no numpy file."},
    ),
}  # fmt: skip
"""By store: what its command does, and its argument and options, which are those of its reader."""


def add_command(store: str, help: str, options: Mapping[str, str]) -> None:
    """Add the command that imports from a kind of store."""
    read = getattr(importers, f"read_{store}")
    parameters = {}
    for name, sentence in options.items():
        default = signature(read).parameters[name].default
        is_argument = default is Parameter.empty
        note = (
            typer.Argument(help=sentence)
            if is_argument
            else typer.Option(f"--{name.replace('_', '-')}", help=sentence)
        )
        form: Any = str | None if default is None else str
        kind = Annotated[form, note]
        parameters[name] = Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)

    @takes_target
    @with_options("values", dict, parameters)
    def run(target: ImportTarget, values: dict[str, Any]) -> None:
        if store == "qdrant":
            values["api_key"] = os.environ.get("QDRANT_API_KEY") or None
        _import(read(**values), target)

    imports.command(store, help=help, epilog=EXAMPLES)(run)


for store, (help, options) in READERS.items():
    add_command(store, help, options)


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
