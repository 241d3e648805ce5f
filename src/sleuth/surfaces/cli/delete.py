"""sleuth delete: take documents out of the index."""

from __future__ import annotations

from typing import Annotated

import typer

from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import (
    IndexOption,
    JsonOption,
    TimeoutOption,
    console,
    file_id,
    open_index,
    print_json,
)

EXAMPLES = """[bold]Examples[/bold]

  sleuth delete docs/old.md          by path, or by document id: what `sleuth search --json` prints before the '#'
"""


@app.command("delete", epilog=EXAMPLES)
def delete(
    ids: Annotated[list[str], typer.Argument(help="Paths or document ids.")],
    timeout: TimeoutOption = 10.0,
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Delete documents; their text leaves the disk. Files themselves are not touched."""
    with open_index(index) as engine:
        named = {id: id if engine.get(id) else file_id(id) for id in ids}
        deleted = engine.delete(list(named.values()), timeout=timeout)
    missing = [id for id, found in named.items() if found not in set(deleted)]
    if json:
        print_json({"deleted": deleted, "missing": missing})
    else:
        console().print(f"Deleted {len(deleted)} documents.")
        for id in missing:
            console(stderr=True).print(f"sleuth: no document {id!r} in this index", markup=False)
    if missing:
        raise typer.Exit(1)
