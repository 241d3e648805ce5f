"""sleuth index import: imports the documents and vectors of another store."""

from __future__ import annotations

import os
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sleuth.errors import ArgumentError, amount
from sleuth.surfaces.cli import Bar, Output, command, index_folder, new_or_open_index, options_from
from sleuth.surfaces.cli.app import index_commands

if TYPE_CHECKING:
    from sleuth.plugins.importers.importing import ImportReport

KINDS = ("chroma", "faiss", "lancedb", "qdrant", "elasticsearch", "vectors")

EXAMPLES = """
  sleuth index import chroma ./chroma_db --embedder ollama:nomic-embed-text --index ./index
  sleuth index import faiss ./faiss_index --embedder openai:text-embedding-3-small
  sleuth index import lancedb ./lancedb --table docs --re-embed
  sleuth index import qdrant http://localhost:6333 --collection docs --embedder ollama:nomic-embed-text
  sleuth index import elasticsearch dump.jsonl --text-field body
  sleuth index import vectors docs.parquet --text-field body --vector-field embedding --embedder ollama:nomic-embed-text
  sleuth index import vectors docs.jsonl --vectors docs.npy --embedder ollama:nomic-embed-text

An import that was broken off goes on when the command is run again.
"""


def _choices(
    *,
    collection: Annotated[str | None, "Name of the collection; needed if there are several."] = None,
    table: Annotated[str | None, "Name of the table; needed if there are several."] = None,
    name: Annotated[str | None, "Name of the two files of FAISS."] = None,
    text_field: Annotated[str | None, "Field of the text."] = None,
    id_field: Annotated[str | None, "Field of the id."] = None,
    vector_field: Annotated[str | None, "Field of the vector; a dump may have none."] = None,
    vector: Annotated[str | None, "Name of the vector of Qdrant; needed if there are several."] = None,
    vectors: Annotated[Path | None, "A numpy file (.npy) with a vector for each row."] = None,
) -> dict[str, Any]:
    """Return what depends on the kind of store."""
    return locals()


@command(index_commands, "import", EXAMPLES, no_args_is_help=True)
def import_store(
    kind: Annotated[str, typer.Argument(metavar="|".join(KINDS), help="What the documents are in.")],
    place: Annotated[
        str,
        "Its folder, of FAISS as LangChain saved it; the address of a server of Qdrant; a dump of Elasticsearch or "
        "OpenSearch; or rows with texts: .parquet, .arrow or .jsonl, or a folder of such.",
    ],
    *,
    choices: Annotated[dict[str, Any], options_from(_choices)],
    embedder: Annotated[
        str | None, "Embedder that made the vectors, such as ollama:nomic-embed-text."
    ] = None,
    re_embed: Annotated[bool, "Discard the vectors and make new ones."] = False,
    show: Bar,
    index: Path | None = None,
) -> Output:
    """Import the documents of another store with their vectors; creates a missing index.

    The key of a server of Qdrant comes from $QDRANT_API_KEY. A pickle of FAISS is read as data: nothing in it is run.
    """
    from sleuth.plugins.importers import import_vectors

    if kind not in KINDS:
        raise ArgumentError(f"what to import must be among {', '.join(KINDS)}, got {kind!r}")
    reader = getattr(import_module("sleuth.plugins.importers"), f"read_{kind}")
    options = {option: value for option, value in choices.items() if value is not None}
    own_options = [option for option in choices if option in signature(reader).parameters]
    for option in options.keys() - own_options:
        names = ", ".join(f"--{option_name.replace('_', '-')}" for option_name in own_options)
        raise ArgumentError(f"an import of {kind} takes {names}, got --{option.replace('_', '-')}")
    if kind == "qdrant":
        options["api_key"] = os.environ.get("QDRANT_API_KEY") or None
    source = reader(place, **options)
    folder = index_folder(index)
    total_text = "" if source.count is None else f" of {source.count:,}"

    def progress(now: ImportReport) -> None:
        show(f"importing {source.name}: {now.read:,}{total_text} documents", now.read, source.count)

    with new_or_open_index(folder, embedder) as engine:
        report = import_vectors(engine, source, re_embed=re_embed, progress=progress)
    blank = f", {report.blank:,} left out without text" if report.blank else ""
    line = (
        f"{amount(report.read, 'document')}{total_text} read: {report.added:,} added, {report.updated:,} updated, "
        f"{report.unchanged:,} unchanged{blank} in {folder}"
    )
    return Output(report, [line])
