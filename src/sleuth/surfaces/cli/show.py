"""sleuth show: what does this id hold?"""

from __future__ import annotations

from typing import Annotated

import typer

from sleuth.errors import ArgumentError
from sleuth.surfaces.cli.app import app
from sleuth.surfaces.cli.common import IndexOption, JsonOption, console, open_index, print_json

EXAMPLES = """[bold]Examples[/bold]

  sleuth show docs/guide.md#3       one passage, by the id that search --json gives
  sleuth show docs/guide.md         a whole document
"""


@app.command("show", epilog=EXAMPLES)
def show(
    id: Annotated[str, typer.Argument(help="A passage id (document#n) or a document id.")],
    json: JsonOption = False,
    index: IndexOption = None,
) -> None:
    """Print a passage or a document with its metadata."""
    with open_index(index) as engine:
        items = engine.get(id)
    if not items:
        raise ArgumentError(
            f"id must name a passage or a document of this index, got {id!r}; `sleuth search --json` prints ids"
        )
    if json:
        print_json([item.to_dict() for item in items])
        return
    out = console()
    for item in items:
        out.print(f"[bold cyan]{item.id}[/]", soft_wrap=True)
        for name, value in item.metadata.items():
            out.print(f"  {name}: {value}", style="dim", markup=False, soft_wrap=True)
        out.print(item.text, markup=False, soft_wrap=True)
        out.print()
