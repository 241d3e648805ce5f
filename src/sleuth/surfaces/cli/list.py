"""sleuth list: prints the documents of an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, open_index, print_json
from sleuth.surfaces.cli.files import shown
from sleuth.surfaces.cli.terminal import say
from sleuth.text import clean_text

if TYPE_CHECKING:
    from sleuth.engine import Engine
    from sleuth.types import StoredDocument

EXAMPLES = """[bold]Examples[/bold]

  sleuth list                       a line for each document, by id
  sleuth list --filter type:pdf     the documents that match a filter
  sleuth list --json                the same with metadata
"""
_PAGE: Final = 1_000


@app.command("list", epilog=EXAMPLES)
def list_documents(
    filter: Annotated[
        str | None, typer.Option("--filter", "-f", help="Only documents with a passage that matches.")
    ] = None,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Print the path or id of each document."""
    total = 0
    with open_index(index) as engine:
        documents = _documents(engine, filter)
        if json:
            entries = [{"id": document.id, "metadata": dict(document.metadata)} for document in documents]
            print_json(entries)
            total = len(entries)
        else:
            for total, document in enumerate(documents, 1):  # noqa: B007  # the last number counts them
                is_file = "path" in document.metadata
                say(shown(engine.files, document.id) if is_file else clean_text(document.id))
    if not total:
        raise typer.Exit(1)


def _documents(engine: Engine, filter: str | None) -> Iterator[StoredDocument]:
    """Yield the documents that match a filter, by id."""
    last_id = None
    while True:
        page = engine.list_documents(filter=filter, after=last_id, limit=_PAGE)
        yield from page.documents
        last_id = page.after
        if last_id is None:
            return
