"""sleuth index delete: deletes documents from the index."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

import typer

from sleuth.surfaces.cli.app import index_commands
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    TimeoutOption,
    open_index,
    print_json,
)
from sleuth.surfaces.cli.files import documents_at
from sleuth.surfaces.cli.terminal import amount, console

EXAMPLES = """[bold]Examples[/bold]

  sleuth index delete docs/old.md          a file with all of its rows, or a folder, or a document by its id,
                                     which `sleuth search --json` prints before the last '#'
"""


@index_commands.command("delete", epilog=EXAMPLES)
def delete(
    ids: Annotated[list[str], typer.Argument(help="Files, folders or document ids.")],
    timeout: TimeoutOption = 10.0,  # as by default in `Engine.delete`
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Delete documents; their text leaves the disk. Files themselves are not touched."""
    with open_index(index) as engine:
        documents_by_id = {id: documents_at(engine, id) for id in ids}
        deleted = engine.delete(chain.from_iterable(documents_by_id.values()), timeout=timeout)
    missing = [id for id, documents in documents_by_id.items() if not set(deleted).intersection(documents)]
    if json:
        print_json({"deleted": deleted, "missing": missing})
    else:
        console().print(f"Deleted {amount(len(deleted), 'document')}.")
        for id in missing:
            console(stderr=True).print(f"sleuth: no document {id!r} in this index", markup=False)
    if missing:
        raise typer.Exit(1)
